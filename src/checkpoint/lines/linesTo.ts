import type { LaneStart } from "../records/lineRecords.ts";
import type { EarlierLane } from "../records/SnapshotRecord.ts";
import type { OriginRecord } from "../records/runRecords.ts";
import type { RunLine } from "../ids/toolCallId.ts";
import type { LaneTree } from "./lineage.ts";
import type { Lines } from "./Lines.ts";

interface LaneOrigins {
  readonly lanes: ReadonlyMap<number, LaneStart>;
  readonly checkpoints: ReadonlyMap<number, { readonly record: { readonly lane: number } }>;
  readonly origins: readonly { readonly record: Pick<OriginRecord, "agentId" | "nextLane"> }[];
  /** By lane: earlier lanes of the same line that the index does not contain, newest first. */
  readonly earlierLanes: ReadonlyMap<number, readonly EarlierLane[]>;
}

/**
 * Returns a lane and the earlier lanes of the same line, newest first. Call ids can be derived from any of these lanes.
 * In a fork, lanes of the original agents are included.
 *
 * @param agentId The agent of the log.
 */
export function linesTo(log: LaneOrigins, agentId: string, lane: number): readonly RunLine[] {
  return lanesTo(log, lane).map(({ owner = agentId, runId, lane: at }) => ({ agentId: owner, runId, lane: at }));
}

export function lanesTo(log: LaneOrigins, lane: number): readonly EarlierLane[] {
  const { lanes, earlierLanes } = log;
  const found = new Set<number>([lane]);
  for (const at of found) for (const before of lanesBefore(log, at)) found.add(before);
  const own = [...found].map((at) => ({ lane: at, runId: lanes.get(at)?.runId ?? "", owner: ownerOf(log, at) }));
  return [...own, ...[...found].flatMap((at) => earlierLanes.get(at) ?? [])];
}

function lanesBefore({ lanes, checkpoints }: LaneOrigins, lane: number): readonly number[] {
  const start = lanes.get(lane);
  const from = start?.record.from;
  if (from !== undefined) return [checkpoints.get(from)?.record.lane ?? []].flat();
  // A run without a checkpoint restarts on a lane that has no link to the first lane of the run.
  return start && isFirst(start)
    ? [...lanes].flatMap(([at, each]) => (at < lane && isFirst(each) && each.runId === start.runId ? at : []))
    : [];
}

function isFirst({ record }: LaneStart): boolean {
  return record.from === undefined && !record.place;
}

function ownerOf({ origins }: LaneOrigins, lane: number): string | undefined {
  return origins.find(({ record }) => lane < record.nextLane)?.record.agentId;
}

/** Returns the newest lane of a line, even if the line was restarted. `undefined` if the line is closed. */
export function openLaneOf(index: LaneTree & { readonly lines: Lines }, lane: number): number | undefined {
  const { lines } = index;
  const newest = lines.nestedLine(lane)?.lane ?? lines.mainLane;
  if (lines.isOpen(newest)) return newest;
  return lines.openLanes.find((open) => lanesOfLine(index, open).has(lane));
}

/**
 * Returns a lane and the earlier lanes of the same line. After a move, the earlier lanes can be nested in other lanes.
 */
export function lanesOfLine({ lanes, checkpoints }: LaneTree, lane: number): ReadonlySet<number> {
  const found = new Set([lane]);
  for (const at of found) {
    const from = lanes.get(at)?.record.from;
    const before = from === undefined ? undefined : checkpoints.get(from);
    if (before) found.add(before.record.lane);
  }
  return found;
}
