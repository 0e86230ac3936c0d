import { runMoved } from "../agent/RunMoved.ts";
import { stateAt } from "../checkpoint/AgentState.ts";
import { statusRecords } from "../checkpoint/status/statusRecords.ts";
import type { CheckpointPoint, LogIndex } from "../checkpoint/LogIndex.ts";
import type { RunLine } from "../checkpoint/toolCallId.ts";
import { UnreadableValueError } from "../errors/UnreadableValueError.ts";
import type { Journal } from "../journal/Journal.ts";
import { loggedCalls } from "../journal/loggedCalls.ts";
import { planRollback } from "../journal/planRollback.ts";
import type { AgentLog } from "../storage/AgentLog.ts";
import { restoredRun } from "./beginRun.ts";
import { lineFrom, runAt } from "./moveRecords.ts";
import type { PersistenceSetup } from "./PersistenceSetup.ts";
import { applyParticipants } from "./applyParticipants.ts";
import { planParticipants } from "./planParticipants.ts";
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
  /** From outside a run: the agent is paused, for this reason. Absent: its run goes on. */
  readonly pauseReason?: string;
}

/** Takes back what was done since a checkpoint, newest first, and begins a line from it. Durable when it resolves. */
export async function rollBack(
  options: RollBackOptions,
): Promise<{ readonly report: RollbackReport; readonly session: RunSession }> {
  const { setup, journal, log, target, line, signal } = options;
  const { registry } = setup;
  const plan = planRollback(
    log.index,
    loggedCalls(log.index, log.blobs),
    target,
    (tool) => registry.has(tool),
    (tool) => setup.participantTools.has(tool),
  );
  const state = stateAt(log.index, target);
  if (!state) throw new UnreadableValueError(`the line to checkpoint ${target.id} is not in the log`);
  const taking = { participants: setup.participants, journal, blobs: setup.log.blobs, log, target, signal };
  const planned = await planParticipants(taking);
  const { reverted, failed } = await revertCalls({
    journal,
    registry,
    plan,
    participants: planned.map(({ record }) => record),
    inverting: log.index.inverting,
    target,
    line,
    signal,
  });
  const participants = await applyParticipants(planned, taking);
  const { run, reopens } = runAt(target, log.index);
  const begun = lineFrom(target, "rollback", run, reopens, journal);
  reopenRuns(journal, log.index, target);
  const end = { kind: "rollback_end", target: target.version } as const;
  journal.append([...begun.records, end]);
  const { pauseReason: reason } = options;
  // In the same turn of the event loop, so in the same append.
  if (reason !== undefined)
    journal.append(statusRecords(journal.life, { status: "paused", at: journal.clock.now(), reason }));
  await journal.durable();
  const report = runMoved({
    checkpointId: target.id,
    reverted,
    failed,
    irreversible: plan.irreversible.map(revertibleCall),
    skipped: plan.skipped.map(revertibleCall),
    participants,
  });
  return {
    report,
    session: restoredRun(
      setup,
      journal,
      { log, state },
      { lane: begun.lane, run, opening: [], head: begun.head, by: "rollback" },
    ),
  };
}

/** Runs that ended below a checkpoint have not ended once it is where the agent is. */
function reopenRuns(journal: Journal, index: LogIndex, target: CheckpointPoint): void {
  for (const run of [target.runId, ...index.runsBelow(target.version)]) {
    journal.runs.delete(run);
    journal.cancelled.delete(run);
  }
}
