import { runMoved } from "../../agent/strategy/Strategy.ts";
import type { RevertibleCall } from "../../agent/feature/RunResult.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import { loggedCalls, read } from "../../journal/loggedCalls.ts";
import type { RollbackGoal, RollbackPlan } from "../../journal/planRollback.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import { type ParticipantReport, revertibleCall, type RollbackReport } from "./RollbackReport.ts";

interface StoredReport {
  readonly reverted: readonly string[];
  readonly failed?: readonly string[];
  readonly irreversible: readonly string[];
  readonly skipped: readonly string[];
  readonly stayedReverted?: readonly string[];
  readonly participants: readonly ParticipantReport[];
}

/** Returns the report of a rollback, which includes what an earlier attempt has reverted. */
export function reportOf(
  log: AgentLog,
  { target, base }: RollbackGoal,
  plan: RollbackPlan,
  { reverted, participants, ...others }: Pick<RollbackReport, "reverted" | "failed" | "skipped" | "participants">,
): RollbackReport {
  const before = doneBefore(log, target);
  return runMoved({
    checkpointId: target.id,
    ...(base && { commonAncestorId: base.id }),
    ...others,
    reverted: [...before.reverted, ...reverted],
    irreversible: plan.irreversible.map(revertibleCall),
    stayedReverted: plan.stayedReverted.map(revertibleCall),
    participants: [...before.participants, ...participants],
  });
}

export function storedReport(report: RollbackReport): StoredReport {
  const { reverted, failed, irreversible, skipped, stayedReverted, participants } = report;
  return {
    reverted: idsOf(reverted),
    ...(failed.length > 0 && { failed: idsOf(failed) }),
    irreversible: idsOf(irreversible),
    skipped: idsOf(skipped),
    ...(stayedReverted.length > 0 && { stayedReverted: idsOf(stayedReverted) }),
    participants,
  };
}

function idsOf(calls: readonly RevertibleCall[]): readonly string[] {
  return calls.map(({ toolCallId }) => toolCallId);
}

/**
 * Returns the report of the last rollback if it reached this checkpoint without failures and is the end of the log. A
 * process may have been killed before its caller received this report.
 */
export function finishedReport(log: AgentLog, { target, base }: RollbackGoal): RollbackReport | undefined {
  const stored = lastReport(log, target);
  if (!stored || hasFailed(stored) || log.index.rollback) return undefined;
  const shown = callsByIds(log);
  return runMoved({
    checkpointId: target.id,
    ...(base && { commonAncestorId: base.id }),
    reverted: shown(stored.reverted),
    failed: [],
    irreversible: shown(stored.irreversible),
    skipped: shown(stored.skipped),
    stayedReverted: shown(stored.stayedReverted ?? []),
    participants: stored.participants,
  });
}

/** Returns what an incomplete rollback to this checkpoint has reverted, which is not repeated. */
function doneBefore(log: AgentLog, target: CheckpointPoint): Pick<RollbackReport, "reverted" | "participants"> {
  const stored = lastReport(log, target);
  if (!stored || !hasFailed(stored)) return { reverted: [], participants: [] };
  return { reverted: callsByIds(log)(stored.reverted), participants: stored.participants };
}

function lastReport(log: AgentLog, target: CheckpointPoint): StoredReport | undefined {
  const { lastRollback } = log.index;
  if (lastRollback?.target !== target.version || lastRollback.report === undefined) return undefined;
  return read(() => log.readValue(lastRollback.report)).value as StoredReport | undefined;
}

function hasFailed({ failed = [] }: StoredReport): boolean {
  return failed.length > 0;
}

function callsByIds(log: AgentLog): (ids: readonly string[]) => readonly RevertibleCall[] {
  const calls = new Map(loggedCalls(log.index, log.blobs).map((call) => [call.call, call]));
  return (ids) =>
    ids.flatMap((id) => {
      const call = calls.get(id);
      return call ? [revertibleCall(call)] : [];
    });
}
