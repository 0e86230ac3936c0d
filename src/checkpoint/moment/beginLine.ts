import type { Clock } from "../../internal/Clock.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import type { LanePlace, LaneRecord, CheckpointRecord, CheckpointPoint } from "../records/lineRecords.ts";
import { visitAt } from "../state/AgentState.ts";
import type { ModelUsage } from "../tokenUsage/ModelUsage.ts";

type Assigned = "kind" | "lane" | "version" | "id" | "at";
type CheckpointFields = {
  readonly [Field in Exclude<keyof CheckpointRecord, Assigned>]?: CheckpointRecord[Field] | undefined;
};

export interface LineChange {
  readonly records: readonly AgentRecord[];
  /** Fields of the checkpoint. `undefined` removes a field. Without `visit`, the node is executed anew. */
  readonly checkpoint?: CheckpointFields | undefined;
}

interface LineStart {
  readonly lane: number;
  /** The checkpoint to continue from. `undefined` if the run, branch or sub-agent starts again. */
  readonly point: CheckpointPoint | undefined;
  readonly first?: LaneRecord | undefined;
  readonly place: LanePlace | undefined;
  readonly move: CheckpointRecord["move"];
}

interface CheckpointCounter {
  nextVersion: number;
  readonly clock: Pick<Clock, "now">;
  readonly usage: ModelUsage | undefined;
}

/** Returns the records that restart a run, branch or sub-agent on a new lane, with a changed checkpoint. */
export function beginLine(
  counter: CheckpointCounter,
  { lane, point, first = { kind: "lane", lane, keep: "nothing" }, place, move }: LineStart,
  change: LineChange,
): readonly AgentRecord[] {
  const within = place && { place };
  if (!point) return [{ ...first, lane, ...within }, ...change.records];
  const { node, input, inputType, unresolved, iteration, progress, summary, joined, ended } = point.record;
  const visit = visitAt(point);
  const kept = { node, input, inputType, unresolved, visit, iteration, progress, summary, joined, ended, move };
  return [
    { kind: "lane", lane, from: point.version, keep: "all", ...within },
    ...change.records,
    checkpointAt(counter, lane, { ...kept, ...change.checkpoint } as typeof kept),
  ];
}

/** Returns a checkpoint record with the current time and the next version. */
export function checkpointAt(
  counter: CheckpointCounter,
  lane: number,
  fields: CheckpointFields & Pick<CheckpointRecord, "node" | "input" | "iteration">,
): CheckpointRecord {
  const version = counter.nextVersion++;
  const { clock, usage } = counter;
  return withoutUndefined({ kind: "checkpoint", lane, version, at: clock.now(), usage, ...fields });
}
