import type { Lines } from "./Lines.ts";
import type { LaneRecord } from "../records/lineRecords.ts";

/** Returns the newest lane of a line, even if the line was restarted. `undefined` if the line is closed. */
export function openLaneOf(index: LaneOrigins & { readonly lines: Lines }, lane: number): number | undefined {
  const { lines } = index;
  const newest = lines.nestedLine(lane)?.lane ?? lines.mainLane;
  if (lines.isOpen(newest)) return newest;
  return lines.openLanes.find((open) => lanesOfLine(index, open).has(lane));
}

interface LaneOrigins {
  readonly lanes: ReadonlyMap<number, { readonly record: Pick<LaneRecord, "from"> }>;
  readonly checkpoints: ReadonlyMap<number, { readonly record: { readonly lane: number } }>;
}

/**
 * Returns a lane and the earlier lanes of its line. After a fork, or another move that restarts several lines, the
 * earlier lanes are nested in earlier lanes of the enclosing line.
 */
export function lanesOfLine({ lanes, checkpoints }: LaneOrigins, lane: number): ReadonlySet<number> {
  const found = new Set([lane]);
  for (const at of found) {
    const from = lanes.get(at)?.record.from;
    const before = from === undefined ? undefined : checkpoints.get(from);
    if (before) found.add(before.record.lane);
  }
  return found;
}
