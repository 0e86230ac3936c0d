import { runMoved } from "../../agent/context/RunMoved.ts";
import type { RevertibleCall } from "../../agent/feature/RunResult.ts";
import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import { loggedCalls, read } from "../../journal/loggedCalls.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import { type ParticipantReport, revertibleCall, type RollbackReport } from "./RollbackReport.ts";

/** What the log keeps of a report: calls by their ids. */
interface StoredReport {
  readonly reverted: readonly string[];
  readonly irreversible: readonly string[];
  readonly skipped: readonly string[];
  readonly participants: readonly ParticipantReport[];
}

/** A report as the log keeps it; `undefined` while a call failed: the same rollback, asked for again, tries it again. */
export function storedReport(report: RollbackReport): StoredReport | undefined {
  const { reverted, failed, irreversible, skipped, participants } = report;
  if (failed.length > 0) return undefined;
  return {
    reverted: idsOf(reverted),
    irreversible: idsOf(irreversible),
    skipped: idsOf(skipped),
    participants,
  };
}

function idsOf(calls: readonly RevertibleCall[]): readonly string[] {
  return calls.map(({ toolCallId }) => toolCallId);
}

/**
 * The report of the last rollback, if it was to this checkpoint and nothing has happened since; `undefined`: it was not. A
 * process may have been killed before its caller had the report.
 */
export function finishedReport(log: AgentLog, target: CheckpointPoint): RollbackReport | undefined {
  const { lastRollback } = log.index;
  if (lastRollback?.target !== target.version || lastRollback.report === undefined) return undefined;
  const stored = read(() => log.readValue(lastRollback.report)).value as StoredReport | undefined;
  if (!stored) return undefined;
  const calls = new Map(loggedCalls(log.index, log.blobs).map((call) => [call.call, call]));
  const shown = (ids: readonly string[]): readonly RevertibleCall[] =>
    ids.flatMap((id) => {
      const call = calls.get(id);
      return call ? [revertibleCall(call)] : [];
    });
  return runMoved({
    checkpointId: target.id,
    reverted: shown(stored.reverted),
    failed: [],
    irreversible: shown(stored.irreversible),
    skipped: shown(stored.skipped),
    participants: stored.participants,
  });
}
