import { addToGroup } from "../../internal/addToGroup.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { CheckpointPoint } from "../records/lineRecords.ts";
import type { LogProjection } from "../state/LogProjection.ts";
import type { AgentCheckpointData } from "./AgentCheckpointData.ts";
import { editDetails } from "./checkpointData.ts";
import { linePath, type LinePath } from "./linePath.ts";

/** A checkpoint with all following checkpoints. */
export interface CheckpointTreeNode extends Pick<
  AgentCheckpointData,
  | "checkpointId"
  | "name"
  | "version"
  | "runId"
  | "createdAt"
  | "nodeId"
  | "status"
  | "move"
  | "by"
  | "reason"
  | "branch"
  | "agentPath"
> {
  /** True for the newest checkpoint of the agent and of each running branch or sub-agent, from which they continue. */
  readonly isHead: boolean;
  /** The last checkpoints of the branches and sub-agents that were joined here, in addition to the parent. */
  readonly otherParentIds?: readonly string[];
  /** The following checkpoints, oldest first, such as the first ones of branches, sub-agents and moves. */
  readonly children: readonly CheckpointTreeNode[];
}

type GrowingNode = CheckpointTreeNode & { readonly children: GrowingNode[] };

/** Returns the checkpoint trees of a log, oldest first. After a pruning, there can be several trees. */
export function checkpointTree(index: LogProjection): readonly CheckpointTreeNode[] {
  const nodes = new Map<number, GrowingNode>();
  const roots: GrowingNode[] = [];
  const shown = shownIn(index);
  const newestOn = new Map<number, number>();
  for (const point of index.checkpoints.values()) {
    const node: GrowingNode = { ...shown(point), children: [] };
    nodes.set(point.version, node);
    const parent = nodes.get(point.parent ?? -1) ?? nodes.get(versionAround(index, point.record.lane, newestOn) ?? -1);
    (parent?.children ?? roots).push(node);
    newestOn.set(point.record.lane, point.version);
  }
  return roots;
}

/**
 * Returns the checkpoint below which the tree shows a branch or sub-agent. For a sub-agent, returns the newest
 * checkpoint of the caller. For a branch whose start was pruned, it is the closest remaining checkpoint.
 */
function versionAround(
  { lanes, lines, checkpoints }: LogProjection,
  lane: number,
  newestOn: ReadonlyMap<number, number>,
): number | undefined {
  let at = lines.nestedLine(lane)?.place.parent;
  const seen = new Set([lane]);
  while (at !== undefined && !seen.has(at)) {
    const newest = newestOn.get(at);
    if (newest !== undefined) return newest;
    seen.add(at);
    const from = checkpoints.get(lanes.get(at)?.record.from ?? -1)?.record.lane;
    at = from ?? lines.nestedLine(at)?.place.parent;
  }
  return undefined;
}

function shownIn(index: LogProjection): (point: CheckpointPoint) => Omit<CheckpointTreeNode, "children"> {
  const heads = new Set(index.lines.openLanes.map((lane) => index.latestOf(lane)?.version));
  const joins = joinsIn(index);
  const paths = new Map<number, LinePath>();
  const pathOf = (lane: number): LinePath => {
    const path = paths.get(lane) ?? linePath(index, lane);
    paths.set(lane, path);
    return path;
  };
  return ({ id, version, runId, record, order }) =>
    withoutUndefined({
      checkpointId: id,
      name: index.names.nameOf(version),
      version,
      runId,
      createdAt: new Date(record.at).toISOString(),
      nodeId: record.node,
      ...pathOf(record.lane),
      status: record.status ?? (record.ended ? "completed" : "in_progress"),
      move: record.move,
      ...editDetails(record),
      isHead: heads.has(version),
      otherParentIds: joins.get(order),
    });
}

export function joinsIn(index: LogProjection): ReadonlyMap<number, readonly string[]> {
  const joins = new Map<number, string[]>();
  for (const lane of index.lanes.keys()) {
    const line = index.lines.nestedLine(lane);
    const end = line?.lane === lane ? index.latestOf(lane) : undefined;
    if (line?.closed !== undefined && end?.record.ended) addToGroup(joins, line.closed, end.id);
  }
  return joins;
}
