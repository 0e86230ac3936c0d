import type { LaneRecord } from "../records/lineRecords.ts";

export interface LaneOrigins {
  readonly lanes: ReadonlyMap<number, { readonly record: Pick<LaneRecord, "from"> }>;
  readonly checkpoints: ReadonlyMap<number, { readonly record: { readonly lane: number } }>;
}

/**
 * Returns a lane and the lanes of its line that lead to it. After a fork, or another move that restarts several lines,
 * the earlier lanes are nested in earlier lanes of the enclosing line.
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
