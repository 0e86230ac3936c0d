import { runsLeft } from "../../checkpoint/lines/afterRollback.ts";
import { placesLeft } from "../../checkpoint/lines/lineage.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { type LoggedCall, loggedCalls } from "../../journal/loggedCalls.ts";
import { planRollback, type RollbackGoal } from "../../journal/planRollback.ts";
import type { AgentIndex } from "../log/AgentIndex.ts";
import type { CallView } from "../view/CallView.ts";
import type { RollbackPreview } from "../view/RollbackView.ts";
import { callViews, isTakenBackWithFiles } from "./callView.ts";
import { checkpointShower, lineShower } from "./checkpointView.ts";
import { filesChangedBy } from "./changesView.ts";
import type { Shown } from "./Source.ts";

export function rollbackPreview(shown: Shown, goal: RollbackGoal): RollbackPreview {
  const { target, base } = goal;
  const { index } = shown;
  const { log } = index;
  const logged = loggedCalls(log, new Map());
  const withFiles = toolsWithFiles(index, logged);
  const plan = planRollback(
    log,
    logged,
    goal,
    () => false,
    (tool) => withFiles.has(tool),
  );
  const of = (calls: readonly LoggedCall[]) => viewsOf(shown, calls);
  const isLeft = placesLeft(log, target, base);
  const left = [...log.checkpoints.values()].filter(({ record, order }) => isLeft(record.lane, order));
  const open = log.rollback?.target;
  return withoutUndefined({
    target: checkpointShower(log)(target),
    commonAncestorId: base?.id,
    revert: of(plan.revert),
    reverted: of(plan.reverted),
    irreversible: of(plan.irreversible),
    inDoubt: of(plan.inDoubt),
    skipped: of(plan.skipped),
    stayedReverted: of(plan.stayedReverted),
    files: filesChangedBy(shown, goal),
    leaves: left.map(({ id }) => id),
    reopens: runsLeft(log, { target: target.version, ...(base && { base: base.version }) }),
    openRollbackTo: open === undefined || open === target.version ? undefined : log.checkpoints.get(open)?.id,
  });
}

function viewsOf(shown: Shown, calls: readonly LoggedCall[]): readonly CallView[] {
  const indexed = calls.flatMap(({ call }) => shown.index.calls.get(call) ?? []);
  const views = new Map(callViews(shown, indexed, lineShower(shown.index.log)).map((view) => [view.toolCallId, view]));
  return calls.flatMap(({ call }) => views.get(call) ?? []);
}

/** Returns the tools that recorded their file changes, so that a workspace can revert them. */
function toolsWithFiles(index: AgentIndex, calls: readonly LoggedCall[]): ReadonlySet<string> {
  return new Set(calls.flatMap(({ call, tool }) => (isTakenBackWithFiles(index, call) ? [tool] : [])));
}
