import type { LaneRecord } from "../records/lineRecords.ts";

/** The lanes in a log, and the checkpoints that they begin from. */
export interface LaneOrigins {
  readonly lanes: ReadonlyMap<number, { readonly record: Pick<LaneRecord, "from"> }>;
  readonly checkpoints: ReadonlyMap<number, { readonly record: { readonly lane: number } }>;
}

/**
 * A lane and those of its line that lead to it. After a fork, or another move that began several lines anew, the earlier lanes
 * are nested in earlier lanes of the line around theirs.
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
