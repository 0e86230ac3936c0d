import type { RunRequest, WhenBusy } from "../../agent/feature/RunRequest.ts";
import { RunStoppedError } from "../../errors/runErrors.ts";
import type { Journal } from "../../journal/Journal.ts";
import { whileBusy } from "../../journal/shape/whileBusy.ts";
import { readHead } from "../../storage/readHead.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { OwnTurn } from "./joinOrRun.ts";

export interface OpenedForRun {
  readonly journal: Journal;
  readonly request: RunRequest;
  readonly replaces: boolean;
}

interface WaitingCall {
  readonly request: RunRequest;
  readonly whenBusy: WhenBusy;
  readonly turn: OwnTurn;
  readonly open: () => Promise<Journal>;
}

/** Waits for the owner of an agent. Stops the run of the owner to replace it, or joins it. @throws RunStoppedError */
export async function openWhenBusy(
  { clock, log }: PersistenceSetup,
  { request, whenBusy, turn: { turns, own }, open }: WaitingCall,
): Promise<OpenedForRun> {
  const { agentId, options } = request;
  const { signal } = options;
  const isReplacing = whenBusy === "replace";
  let sawRun = false;
  // An owner that answers requests, prunes or rolls back the agent is not stopped, unless the last run was interrupted,
  // because the log then looks as during a run.
  const watchOwner = async () => {
    const head = await readHead(log, agentId);
    const { rollback, statusState } = head.log.index;
    head[Symbol.dispose]();
    if (rollback || !(turns.hasRun || statusState.current?.status === "in_progress")) return;
    sawRun = true;
    if (isReplacing) await log.requestStop(agentId, "another run takes its place");
  };
  const wait = { clock, timeoutMs: Infinity, signal };
  const journal = (await (isReplacing
    ? turns.inPlace(signal, () => whileBusy(open, wait, watchOwner))
    : whileBusy(() => turns.untilReplaced(signal).then(open), wait, watchOwner))) as Journal;
  const status = journal.statusState.current?.status;
  const replaces = isReplacing && sawRun && status === "in_progress" && !journal.head?.log.index.rollback;
  if (whenBusy !== "join" || !sawRun) return { journal, request, replaces };
  own.executes = true;
  if (status === "failed" || status === "cancelled" || status === "paused") {
    await journal[Symbol.asyncDispose]();
    throw new RunStoppedError(agentId, status);
  }
  // If the process of the joined run has died, this call continues the run.
  const { onDelta, takeOver } = options;
  return { journal, request: { kind: "resume", agentId, options: { agentId, signal, onDelta, takeOver } }, replaces };
}
