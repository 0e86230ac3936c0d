import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import { placesBelow } from "../../checkpoint/lines/lineage.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { type LoggedCall, loggedCalls } from "../../journal/loggedCalls.ts";
import { planRollback } from "../../journal/planRollback.ts";
import type { AgentIndex } from "../log/AgentIndex.ts";
import type { CallView } from "../view/CallView.ts";
import type { RollbackPreview } from "../view/RollbackPreview.ts";
import { callViews, isTakenBackWithFiles } from "./callView.ts";
import { checkpointShower, lineShower } from "./checkpointView.ts";
import { filesReverted } from "./fileChanges.ts";
import type { Shown } from "./Source.ts";

/** What a rollback to a checkpoint would do, as far as the log tells. */
export function rollbackPreview(shown: Shown, target: CheckpointPoint): RollbackPreview {
  const { index } = shown;
  const { log } = index;
  const logged = loggedCalls(log, new Map());
  const withFiles = toolsWithFiles(index, logged);
  const plan = planRollback(
    log,
    logged,
    target,
    () => false,
    (tool) => withFiles.has(tool),
  );
  const of = (calls: readonly LoggedCall[]) => viewsOf(shown, calls);
  const isBelow = placesBelow(log, target);
  const left = [...log.checkpoints.values()].filter(({ record, order }) => isBelow(record.lane, order));
  const open = log.rollback?.target;
  return withoutUndefined({
    target: checkpointShower(log)(target),
    revert: of(plan.revert),
    reverted: of(plan.reverted),
    irreversible: of(plan.irreversible),
    inDoubt: of(plan.inDoubt),
    skipped: of(plan.skipped),
    files: filesReverted(shown, target),
    leaves: left.map(({ id }) => id),
    reopens: log.runsBelow(target.version),
    openRollbackTo: open === undefined || open === target.version ? undefined : log.checkpoints.get(open)?.id,
  });
}

function viewsOf(shown: Shown, calls: readonly LoggedCall[]): readonly CallView[] {
  const indexed = calls.flatMap(({ call }) => shown.index.calls.get(call) ?? []);
  const views = new Map(callViews(shown, indexed, lineShower(shown.index.log)).map((view) => [view.toolCallId, view]));
  return calls.flatMap(({ call }) => views.get(call) ?? []);
}

/** The tools whose effects a workspace takes back, as far as the log tells: their calls noted the files that they changed. */
function toolsWithFiles(index: AgentIndex, calls: readonly LoggedCall[]): ReadonlySet<string> {
  return new Set(calls.flatMap(({ call, tool }) => (isTakenBackWithFiles(index, call) ? [tool] : [])));
}
