import type { LaneStart } from "../records/lineRecords.ts";
import type { EarlierLane } from "../records/SnapshotRecord.ts";
import type { OriginRecord } from "../records/runRecords.ts";
import type { RunLine } from "../toolCallId.ts";

/** The lanes in a log, and the forks that its agent came of. */
interface LaneOrigins {
  readonly lanes: ReadonlyMap<number, LaneStart>;
  readonly checkpoints: ReadonlyMap<number, { readonly record: { readonly lane: number } }>;
  readonly origins: readonly { readonly record: Pick<OriginRecord, "agentId" | "nextLane"> }[];
  /** By lane, those of its line that are not within what was read and that led to it, the newest first. */
  readonly earlierLanes: ReadonlyMap<number, readonly EarlierLane[]>;
}

/**
 * A lane and those of its line that lead to it, the newest first: what ids of calls were bound to before. In a fork, lanes of
 * the agents that it came of are among them.
 *
 * @param agentId of the agent that the log is of.
 */
export function linesTo(log: LaneOrigins, agentId: string, lane: number): readonly RunLine[] {
  return lanesTo(log, lane).map(({ owner = agentId, runId, lane: at }) => ({ agentId: owner, runId, lane: at }));
}

/** {@link linesTo} for a log of any agent. */
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
  // A run without a checkpoint begins anew on a lane like its first one, which nothing names.
  return start && isFirst(start)
    ? [...lanes].flatMap(([at, each]) => (at < lane && isFirst(each) && each.runId === start.runId ? at : []))
    : [];
}

/** Whether a lane is the first of a run: nothing leads to it. */
function isFirst({ record }: LaneStart): boolean {
  return record.from === undefined && !record.place;
}

/** The agent that a lane was begun by, if it was not the one that the log is of now. */
function ownerOf({ origins }: LaneOrigins, lane: number): string | undefined {
  return origins.find(({ record }) => lane < record.nextLane)?.record.agentId;
}
