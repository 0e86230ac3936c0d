import { joinsIn } from "../../checkpoint/data/checkpointTree.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { CheckpointView, CheckpointsPage } from "../view/CheckpointView.ts";
import type { UsageView, LineView } from "../view/viewParts.ts";
import type { AgentIndex } from "../log/AgentIndex.ts";
import { wayBack } from "../log/laneRecords.ts";
import { type PageOptions, pageOf } from "../log/pageOf.ts";

/** Returns the view of a checkpoint. Caches data that all checkpoints need. */
export type ShowCheckpoint = (point: CheckpointPoint) => CheckpointView;

export function checkpointShower(log: LogProjection): ShowCheckpoint {
  const heads = new Set(log.lines.openLanes.map((lane) => log.latestOf(lane)?.version));
  const joins = joinsIn(log);
  const living = livingIn(log);
  const lineOf = lineShower(log);
  return (point) => {
    const { id, version, position, generation, runId, record, order } = point;
    return withoutUndefined({
      checkpointId: id,
      name: log.names.nameOf(version),
      version,
      position,
      generation,
      at: isoTime(record.at),
      runId,
      lane: record.lane,
      line: lineOf(record.lane),
      parentId: log.parentIdOf(point),
      otherParentIds: joins.get(order),
      node: record.node,
      iteration: record.iteration,
      status: record.status ?? (record.ended ? ("completed" as const) : ("in_progress" as const)),
      move: record.move,
      trigger: record.trigger,
      by: record.by,
      reason: record.reason,
      progress: record.progress,
      summary: record.summary,
      usage: usageView(record.usage),
      isHead: heads.has(version),
      isLeft: order > (living.get(record.lane) ?? -1),
    }) as CheckpointView;
  };
}

export function lineShower(log: LogProjection): (lane: number) => LineView {
  const lines = new Map<number, LineView>();
  return (lane) => {
    const line = lines.get(lane) ?? linePath(log, lane);
    lines.set(lane, line);
    return line;
  };
}

/** Returns only valid token numbers, because a log may contain any value. */
export function usageView(usage: object | undefined): UsageView | undefined {
  if (!usage) return undefined;
  const { inputTokens, outputTokens, totalTokens, inputTokenDetails } = usage as Readonly<Record<string, unknown>>;
  const { cacheReadTokens } = Object(inputTokenDetails) as { readonly cacheReadTokens?: unknown };
  const counts = {
    inputTokens: count(inputTokens),
    outputTokens: count(outputTokens),
    totalTokens: count(totalTokens),
    cachedInputTokens: count(cacheReadTokens),
  };
  return withoutUndefined(counts) as UsageView;
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function isoTime(at: number): string {
  return new Date(at).toISOString();
}

/** For each lane, the order of the last record from which an open branch continues. Other lanes are abandoned. */
type Living = ReadonlyMap<number, number>;

/** Returns the part of a log that open branches continue. Moves, rollbacks and newer runs abandoned the rest. */
function livingIn(log: LogProjection): Living {
  const living = new Map<number, number>();
  for (const lane of log.lines.openLanes) addWay(log, living, lane);
  // Branches and sub-agents have higher lane numbers than their parents, so the parent is already known.
  for (const lane of log.lanes.keys()) {
    const line = log.lines.nestedLine(lane);
    if (line?.lane === lane && line.closed !== undefined && (living.get(line.place.parent) ?? -1) >= line.closed)
      addWay(log, living, lane);
  }
  return living;
}

function addWay(log: LogProjection, living: Map<number, number>, lane: number): void {
  for (const [at, upTo] of wayBack(log, lane, Infinity)) {
    if ((living.get(at) ?? -1) >= upTo) return;
    living.set(at, upTo);
  }
}

export function checkpoints({ log, damage }: AgentIndex, options: PageOptions): CheckpointsPage {
  const all = [...log.checkpoints.values()];
  const { items, ...cursors } = pageOf(all, ({ version }) => version, options);
  return { checkpoints: items.map(checkpointShower(log)), ...cursors, total: all.length, damage };
}
