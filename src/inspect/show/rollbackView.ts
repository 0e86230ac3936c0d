import type { AgentIndex, PlacedRecord } from "../log/AgentIndex.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { RollbackView } from "../view/RollbackView.ts";
import { callFacts } from "../../checkpoint/data/toolCalls.ts";
import { standingUndo, undoOf } from "./callView.ts";
import type { Source } from "./Source.ts";
import { headBefore } from "../log/laneRecords.ts";

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

/** Returns the calls after the target that have an effect but are not planned to be reverted. */
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
  return known ? callFacts({ ...known, visit: [0, 0] }).tool : "";
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
