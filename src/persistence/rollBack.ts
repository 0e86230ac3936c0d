import { runMoved } from "../agent/RunMoved.ts";
import { stateAt } from "../checkpoint/AgentState.ts";
import type { CheckpointPoint } from "../checkpoint/LogIndex.ts";
import type { RunLine } from "../checkpoint/toolCallId.ts";
import { UnreadableValueError } from "../errors/UnreadableValueError.ts";
import type { Journal } from "../journal/Journal.ts";
import { loggedCalls } from "../journal/loggedCalls.ts";
import { planRollback } from "../journal/planRollback.ts";
import type { AgentLog } from "../storage/AgentLog.ts";
import type { AppendOptions } from "../journal/AppendQueue.ts";
import { restoredRun } from "./beginRun.ts";
import { lineFrom, runAt } from "./moveRecords.ts";
import type { PersistenceSetup } from "./PersistenceSetup.ts";
import { revertCalls } from "./revertCalls.ts";
import { revertibleCall, type RollbackReport } from "./RollbackReport.ts";
import type { RunSession } from "./RunSession.ts";

export interface RollBackOptions {
  readonly setup: PersistenceSetup;
  readonly journal: Journal;
  /** The whole log, read after everything in flight has ended. */
  readonly log: AgentLog;
  readonly target: CheckpointPoint;
  readonly line: RunLine;
  readonly signal: AbortSignal;
  /** What the status becomes; absent: it stays. */
  readonly summary?: (createdAt: number, runId: string) => AppendOptions["summary"];
}

/** Takes back what was done since a checkpoint, newest first, and begins a line from it. Durable when it resolves. */
export async function rollBack(
  options: RollBackOptions,
): Promise<{ readonly report: RollbackReport; readonly session: RunSession }> {
  const { setup, journal, log, target, line, signal } = options;
  const { registry } = setup;
  const plan = planRollback(log.index, loggedCalls(log.index, log.blobs), target, (tool) => registry.has(tool));
  const state = stateAt(log.index, target);
  if (!state) throw new UnreadableValueError(`the line to checkpoint ${target.id} is not in the log`);
  const { reverted, failed } = await revertCalls({ journal, registry, plan, target, line, signal });
  const { run, reopens } = runAt(target, log.index);
  const begun = lineFrom(target, "rollback", run, reopens, journal);
  for (const [ended, [version]] of journal.runs) if (version > target.version) journal.runs.delete(ended);
  const summary = options.summary?.(log.index.createdAt ?? run.at, run.run);
  journal.append([...begun.records, { kind: "rollback_end", target: target.version }], { ...(summary && { summary }) });
  await journal.durable();
  const report = runMoved({
    checkpointId: target.id,
    reverted,
    failed,
    irreversible: plan.irreversible.map(revertibleCall),
    skipped: plan.skipped.map(revertibleCall),
  });
  return {
    report,
    session: restoredRun(setup, journal, { log, state }, { lane: begun.lane, run, opening: [], head: begun.head }),
  };
}
