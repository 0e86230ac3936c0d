import { RunNotOpenError } from "../../errors/runErrors.ts";
import { statusRecords } from "../../checkpoint/state/StatusState.ts";
import { stopAndOpen } from "../../journal/openWithRetry.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { finishRollback } from "../rollback/rollBack.ts";
import type { Journal } from "../../journal/Journal.ts";
import { endRecords } from "../../journal/runRecords.ts";
import { storedState, type StoredState } from "../starting/startRecorder.ts";
import type { DurableCall } from "./DurableCall.ts";
import { giveBackEvents } from "../waiting/journalReceipt.ts";
import { answerRequests, expireRequests, receiveEvents } from "../waiting/answerRequests.ts";

export interface StopOptions {
  /** The reason, with which the run rejects and which the status of the agent shows. */
  readonly reason: string;
  /** How long to wait for the owner of the agent, in milliseconds. Defaults to 30,000. */
  readonly timeoutMs?: number | undefined;
}

export interface StopResult {
  /** True if this call paused a run in progress. */
  readonly stopped: boolean;
  /** The status of the agent after the call. `undefined` if the storage has no such agent. */
  readonly status: string | undefined;
}

/** Pauses a run in progress, in any process. @throws AgentBusyError */
export async function stopRun(
  setup: PersistenceSetup,
  agentId: string,
  { reason, timeoutMs }: { readonly reason: string; readonly timeoutMs: number },
): Promise<StopResult> {
  await using journal = await stopAndOpen(setup, agentId, { reason, timeoutMs });
  const status = journal.statusState.current?.status;
  if (status !== "in_progress") return { stopped: false, status };
  const paused = { status: "paused", at: journal.clock.now(), reason } as const;
  await journal.store(statusRecords(journal.statusState, paused));
  return { stopped: true, status: "paused" };
}

/** Ends an unfinished run as cancelled. @throws RunNotOpenError, AgentBusyError */
export async function cancelRun(
  setup: PersistenceSetup,
  agentId: string,
  reason: string | undefined,
  timeoutMs: number,
): Promise<void> {
  await using journal = await stopAndOpen(setup, agentId, { reason: reason ?? "cancelled", timeoutMs });
  if (journal.head?.log.index.rollback) {
    await finishRollback(setup, journal, "leave");
    await journal.readHead();
  }
  const { log, state } = journal.head ?? {};
  if (!log?.index.run || !state) throw new RunNotOpenError("nothing_to_cancel", agentId, "it has not run");
  if (!log.index.unfinished) throw new RunNotOpenError("nothing_to_cancel", agentId, "its last run has ended");
  await endUnfinished(setup, journal, { log, state }, reason);
  await journal.durable();
}

/** Ends the unfinished run as cancelled. @param received The requests whose events the run has not read. */
export async function endUnfinished(
  setup: PersistenceSetup,
  journal: Journal,
  stored: StoredState,
  reason: string | undefined,
  received?: readonly string[],
): Promise<void> {
  await giveBackEvents(setup, stored, received);
  journal.append(endRecords(journal, stored, { status: "cancelled", ...(reason !== undefined && { reason }) }));
}

export async function recordAnswers(
  { setup, journal }: DurableCall,
  answers: Readonly<Record<string, unknown>>,
): Promise<void> {
  const given = Object.entries(answers).map(([requestId, answer]) => [requestId, { answer }] as const);
  const action = () => answerRequests(setup, journal, storedState(journal), new Map(given));
  await (setup.telemetry?.answer(journal.agentId, Object.keys(answers), action) ?? action());
  await journal.readHead();
}

/** Receives events and expires requests before the run continues. Returns the requests that received an event. */
export async function endRequests({ setup, journal, signal }: DurableCall): Promise<readonly string[]> {
  const stored = storedState(journal);
  const received = stored ? await receiveEvents(setup, journal, stored, signal) : [];
  if (received.length > 0) await journal.readHead();
  const left = storedState(journal);
  if (left && (await expireRequests(journal, left))) await journal.readHead();
  return received;
}
