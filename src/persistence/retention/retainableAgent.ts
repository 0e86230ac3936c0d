import { headsOf, mergedAt, neededCheckpoints } from "../../checkpoint/pruning/neededCheckpoints.ts";
import type { LaneRecord } from "../../checkpoint/records/lineRecords.ts";
import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { firstOfRun } from "../../journal/findCheckpoint.ts";
import type { RetainableAgent } from "./planRetention.ts";

/**
 * Returns the data that retention decides by. Returns `undefined` for an agent without a status. Also returns
 * `undefined` during a rollback, which needs all data.
 */
export function retainableAgent(index: LogProjection): RetainableAgent | undefined {
  const { current } = index.statusState;
  if (!current || index.rollback) return undefined;
  const points = [...index.checkpoints.values()];
  const exempt = exemptVersions(index, points);
  const times = [...points.map(({ record }) => record.at), ...[...index.runRecords.values()].map(({ at }) => at)];
  return {
    status: current.status,
    lastTime: times.reduce((latest, at) => Math.max(latest, at), current.at),
    checkpoints: points.map((point) => {
      const { version } = point;
      const isExempt = exempt.has(version);
      return { version, exempt: isExempt, goesFirst: !isExempt && point !== index.latest && goesFirst(index, point) };
    }),
  };
}

/**
 * Returns the checkpoints that are always kept and do not count toward the maximum, with the checkpoints that they
 * depend on. A single head is not included. It is the last checkpoint, which is kept and counts.
 */
function exemptVersions(index: LogProjection, points: readonly CheckpointPoint[]): ReadonlySet<number> {
  const isNamed = ({ record, version }: CheckpointPoint) =>
    record.id !== undefined || index.names.nameOf(version) !== undefined;
  const named = points.filter(isNamed).map(({ version }) => version);
  const noted = linesWithNotes(index);
  const beginnings = [...index.lanes.values()].flatMap(({ record }) => beginningOf(index, record, noted));
  const start = index.unfinished ? firstOfRun(index)?.version : undefined;
  // The first checkpoint of the agent is not included, because it is kept and counts.
  if (start !== undefined && start !== points[0]?.version) beginnings.push(start);
  const heads = headsOf(index).map(({ version }) => version);
  const wanted = [...named, ...beginnings, ...index.redoneFrom];
  if (heads.length > 1) return neededCheckpoints(index, [...wanted, ...heads]);
  const exempt = new Set(neededCheckpoints(index, [...wanted, ...heads]));
  for (const head of heads) if (!wanted.includes(head)) exempt.delete(head);
  return exempt;
}

/**
 * Returns the checkpoint that a lane depends on. The lane of a later run needs only the messages at the end of the
 * earlier run. A closed line is needed only for its notes.
 */
function beginningOf({ lines }: LogProjection, { lane, from, keep }: LaneRecord, noted: ReadonlySet<number>): number[] {
  if (from === undefined) return [];
  const line = lines.nestedLine(lane);
  const isNeeded = line ? lines.isOpen(line.lane) || noted.has(line.first) : keep === "all";
  return isNeeded ? [from] : [];
}

function linesWithNotes({ lines, notes }: LogProjection): ReadonlySet<number> {
  const found = new Set<number>();
  for (const { record } of notes) {
    let line = lines.nestedLine(record.lane);
    for (; line && !found.has(line.first); line = lines.nestedLine(line.place.parent)) found.add(line.first);
  }
  return found;
}

/**
 * Returns whether a checkpoint is deleted before others: a checkpoint of a closed line, because no move can target it,
 * or a merge, because it needs the ends of all branches.
 */
function goesFirst(index: LogProjection, point: CheckpointPoint): boolean {
  const line = index.lines.nestedLine(point.record.lane);
  return (line !== undefined && !index.lines.isOpen(line.lane)) || mergedAt(index, point) !== undefined;
}
