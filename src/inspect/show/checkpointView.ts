import { joinsIn } from "../../checkpoint/data/checkpointTree.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";
import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { CheckpointView } from "../view/CheckpointView.ts";
import type { LineView } from "../view/LineView.ts";
import { isLiving, livingIn } from "../place/living.ts";

/** Returns the view of a checkpoint, with cached common data. */
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
      isLeft: !isLiving(living, point),
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

/** Validates the token usage, because a log may contain any value. */
export function usageView(usage: object | undefined): CheckpointView["usage"] {
  if (!usage) return undefined;
  const { inputTokens, outputTokens, totalTokens } = usage as Readonly<Record<string, unknown>>;
  const counts = {
    inputTokens: count(inputTokens),
    outputTokens: count(outputTokens),
    totalTokens: count(totalTokens),
  };
  return withoutUndefined(counts) as CheckpointView["usage"];
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function isoTime(at: number): string {
  return new Date(at).toISOString();
}
