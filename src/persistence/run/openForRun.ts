import type { RunOptions, RunRequest } from "../../agent/feature/RunRequest.ts";
import { RunStoppedError } from "../../errors/runErrors.ts";
import type { Journal } from "../../journal/Journal.ts";
import { whileBusy } from "../../journal/shape/whileBusy.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { OwnTurn } from "./joinOrRun.ts";
import type { RevertibleCall, RunResult } from "../../agent/feature/RunResult.ts";
import { type DurableCall, signalOf } from "./DurableCall.ts";

interface OpenedForRun {
  readonly journal: Journal;
  readonly request: RunRequest;
  readonly replaces: boolean;
}

/**
 * Opens an agent for a call of `run` or `resume`. If the agent has another owner, `whenBusy` of the call decides.
 *
 * @throws AgentBusyError while another owner is alive and the call does not wait.
 * @throws RunStoppedError if the joined run stops without a result.
 */
export async function openForRun(
  setup: PersistenceSetup,
  request: RunRequest,
  { turns, own }: OwnTurn,
): Promise<OpenedForRun> {
  const { agentId, options } = request;
  const { whenBusy = "reject" } = options as RunOptions;
  const open = () => setup.openJournal(agentId, options.takeOver ? "take_over" : undefined, request.kind === "resume");
  if (whenBusy === "reject") return { journal: await open(), request, replaces: false };
  if (whenBusy === "replace") {
    const { journal, wasBusy } = await turns.inPlace(() =>
      opened(setup, options.signal, open, async () => {
        await setup.log.requestStop(agentId, "another run takes its place");
        await turns.other(own)?.result.catch(() => undefined);
      }),
    );
    const abandoning = { ...request, options: { ...request.options, unfinished: "abandon" } as const };
    return { journal, request: wasBusy ? abandoning : request, replaces: wasBusy };
  }
  const { journal, wasBusy } = await opened(setup, options.signal, () => turns.untilReplaced().then(open));
  if (!wasBusy || whenBusy === "queue") return { journal, request, replaces: false };
  return { journal, request: await joined(journal, request), replaces: false };
}

async function opened(
  { clock }: PersistenceSetup,
  signal: AbortSignal | undefined,
  open: () => Promise<Journal>,
  onBusy: () => Promise<void> = async () => undefined,
): Promise<{ readonly journal: Journal; readonly wasBusy: boolean }> {
  let wasBusy = false;
  const journal = await whileBusy(open, { clock, timeoutMs: Number.POSITIVE_INFINITY, signal }, async () => {
    wasBusy = true;
    await onBusy();
    return false;
  });
  return { journal: journal as Journal, wasBusy };
}

/** Returns a request for the result of a run in another process. If that process has died, the run continues here. */
async function joined(journal: Journal, { agentId, options }: RunRequest): Promise<RunRequest> {
  const status = journal.statusState.current?.status;
  if (status === "failed" || status === "cancelled") {
    await journal[Symbol.asyncDispose]();
    throw new RunStoppedError(agentId, status);
  }
  const { signal, onDelta, takeOver } = options;
  return { kind: "resume", agentId, options: { agentId, signal, onDelta, takeOver } };
}

/** Finishes an interrupted rollback. @returns the calls not reverted, empty unless the caller abandons runs. */
export async function finishOpenRollback(call: DurableCall): Promise<readonly RevertibleCall[]> {
  const { setup, journal } = call;
  const { options } = call.request;
  if (!journal.head?.log.index.rollback) return [];
  const { finishRollback } = await import("../rollback/rollBack.ts");
  const abandons = "unfinished" in options && options.unfinished === "abandon";
  const { left } = await finishRollback(setup, journal, abandons ? "leave" : "stop", signalOf(call));
  await journal.readHead();
  return (abandons ? left : []).map(({ error: _error, ...reverting }) => reverting);
}

export function withEffects(result: RunResult<unknown>, remaining: readonly RevertibleCall[]): RunResult<unknown> {
  if (result.status !== "completed" || remaining.length === 0) return result;
  return { ...result, effects: { missing: [], remaining } };
}
