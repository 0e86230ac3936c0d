import { statusRecords } from "../../checkpoint/state/StatusState.ts";
import { stopAndOpen } from "../../journal/openWithRetry.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";

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
