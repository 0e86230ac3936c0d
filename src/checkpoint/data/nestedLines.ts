import type { NestedLine } from "../lines/Lines.ts";
import type { CheckpointPoint } from "../state/CheckpointPoint.ts";
import { visitAt } from "../state/AgentState.ts";
import type { LogProjection } from "../state/LogProjection.ts";
import type { CheckpointBranch } from "./AgentCheckpointData.ts";
import { linePath } from "./linePath.ts";

export interface NestedLineAt extends Pick<CheckpointBranch, "path" | "nodeId" | "status"> {
  readonly point: CheckpointPoint;
}

/**
 * Returns the nested lines that were not joined when a checkpoint was made, in start order. For the newest checkpoint
 * of a line, returns their current state.
 */
export function nestedLinesAt(index: LogProjection, point: CheckpointPoint): readonly NestedLineAt[] {
  const { lane } = point.record;
  return nestedAt(index, lane, index.latestOf(lane)?.version === point.version ? Infinity : point.order);
}

function nestedAt(index: LogProjection, lane: number, upTo: number): readonly NestedLineAt[] {
  return index.lines.childrenOf(lane).flatMap((line) => {
    const point = isNestedAt(line, upTo) ? newestAt(index, line, upTo) : undefined;
    return point
      ? [{ path: pathOf(index, line), nodeId: point.record.node, status: statusAt(index, point, upTo), point }]
      : [];
  });
}

function isNestedAt({ begun, closed = Infinity }: NestedLine, upTo: number): boolean {
  return begun <= upTo && (closed > upTo || closed === Infinity);
}

function newestAt(index: LogProjection, { lanes }: NestedLine, upTo: number): CheckpointPoint | undefined {
  const lane = lanes.findLast(([, begun]) => begun <= upTo)?.[0] ?? 0;
  if (upTo === Infinity) return index.latestOf(lane);
  const saved = index.laneRecords
    .get(lane)
    ?.findLast(({ record, order }) => record.kind === "checkpoint" && order <= upTo)?.record;
  return saved?.kind === "checkpoint" ? index.checkpoints.get(saved.version) : undefined;
}

function pathOf(index: LogProjection, { lane, place }: NestedLine): string {
  const { branch, agentPath } = linePath(index, lane);
  return "branch" in place ? (branch ?? place.branch) : (agentPath.at(-1) ?? "");
}

function statusAt(index: LogProjection, point: CheckpointPoint, upTo: number): CheckpointBranch["status"] {
  if (point.record.ended) return "completed";
  if (asksAt(index, point, upTo)) return "waiting";
  const within = nestedAt(index, point.record.lane, upTo).map(({ status }) => status);
  return within.includes("waiting") && !within.includes("in_progress") ? "waiting" : "in_progress";
}

function asksAt({ base, laneRecords }: LogProjection, point: CheckpointPoint, upTo: number): boolean {
  const [visit] = visitAt(point);
  const open = new Set<string>();
  const known = base?.state.lane === point.record.lane ? base.state.requests.values() : [];
  for (const { record, reply } of known) if (!reply && record.visit[0] === visit) open.add(record.request);
  for (const { record, order } of laneRecords.get(point.record.lane) ?? []) {
    if (order > upTo) break;
    if (record.kind === "request" && record.visit[0] === visit) open.add(record.request);
    else if (record.kind === "reply") open.delete(record.request);
  }
  return open.size > 0;
}
