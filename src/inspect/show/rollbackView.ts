import type { AgentIndex, PlacedRecord } from "../log/AgentIndex.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { RollbackView, RollbackPreview } from "../view/RollbackView.ts";
import { callFacts } from "../../checkpoint/data/RequestedCalls.ts";
import { standingUndo, undoOf, callViews, isRevertedWithFiles } from "./callView.ts";
import type { Source, Shown } from "./Source.ts";
import { headBefore } from "../log/laneRecords.ts";
import { runsLeft } from "../../checkpoint/lines/afterRollback.ts";
import { placesLeft } from "../../checkpoint/lines/lineage.ts";
import { type LoggedCall, loggedCalls } from "../../journal/loggedCalls.ts";
import { planRollback, type RollbackGoal } from "../../journal/planRollback.ts";
import type { CallView } from "../view/CallView.ts";
import { checkpointShower, lineShower } from "./checkpointView.ts";
import { filesChangedBy } from "./changesView.ts";

export function rollbackView(source: Source, rollback: PlacedRecord<"rollback">): RollbackView {
  const { index } = source;
  const { log, rollbackEnds, stepsDone } = index;
  const { target, base, calls, closed } = rollback.record;
  const end = rollbackEnds.get(rollback);
  const isOpen = end === undefined && log.rollback?.target === target;
  return withoutUndefined({
    targetId: log.checkpoints.get(target)?.id,
    fromId: headBefore(index, rollback.order)?.id,
    commonAncestorId: base === undefined ? undefined : log.checkpoints.get(base)?.id,
    state: isOpen ? ("open" as const) : ("done" as const),
    checkpointId: end === undefined ? undefined : log.checkpoints.get(end)?.id,
    calls: calls.map((call) => ({ toolCallId: call, tool: toolOf(index, call), ...undone(index, call, isOpen) })),
    staying: staying(source, calls, closed),
    participants: [...(stepsDone.get(rollback) ?? [])].map(([key, done]) => ({ key, ...done })),
  });
}

/** Returns the calls after the target whose effects remain, because the rollback does not plan to revert them. */
function staying(source: Source, planned: readonly string[], closed: readonly string[]): RollbackView["staying"] {
  const { index } = source;
  const unplanned = closed.filter((call) => !planned.includes(call) && !index.log.owners.has(call));
  return unplanned.flatMap((call) => {
    const known = index.calls.get(call);
    return known && standingUndo.has(undoOf(source, known)) ? { toolCallId: call, tool: toolOf(index, call) } : [];
  });
}

function toolOf({ calls }: AgentIndex, call: string): string {
  const known = calls.get(call);
  return known ? callFacts(known).tool : "";
}

type Undone = Pick<RollbackView["calls"][number], "state" | "error">;

function undone({ log, undoErrors }: AgentIndex, call: string, isOpen: boolean): Undone {
  const error = log.left.get(call) ?? undoErrors.get(call);
  if (log.reverted.has(call)) return { state: "reverted" };
  if (log.inverting.has(call)) return { state: "in_doubt" };
  if (log.left.has(call) || (error === undefined && !isOpen))
    return withoutUndefined({ state: "left" as const, error });
  return error === undefined ? { state: "pending" } : { state: "failed", error };
}

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

/** Returns the tools whose file changes a workspace can revert. */
function toolsWithFiles(index: AgentIndex, calls: readonly LoggedCall[]): ReadonlySet<string> {
  return new Set(calls.flatMap(({ call, tool }) => (isRevertedWithFiles(index, call) ? [tool] : [])));
}
