import { foldTo, type AgentState } from "../state/AgentState.ts";
import type { Entry } from "../records/Entry.ts";
import type { CheckpointPoint, LogProjection } from "../state/LogProjection.ts";
import type { AgentRecord, RestatedEntry } from "../records/AgentRecord.ts";
import { neededCalls, type NeededCalls } from "./neededCalls.ts";
import { stateAtStart, stateDelta } from "./stateDelta.ts";

/** The kinds that make the state of a lane: a kept checkpoint restates them as the changes since the kept one before it. */
const stateKinds: ReadonlySet<string> = new Set(["message", "edit", "storage", "settings", "requirements", "decision"]);

/**
 * Rewrites a log to these checkpoints and no others: the state at each stays the same, and so do the calls that a rollback to
 * it reverts. Records that belong to no state are kept unchanged.
 *
 * @param kept versions; they must include the head and every checkpoint that a lane begins from.
 */
export function rewriteKept(
  entries: readonly Entry[],
  index: LogProjection,
  kept: ReadonlySet<number>,
  hasInverse: (tool: string) => boolean,
): readonly RestatedEntry[] {
  const deltas = deltasOf(index, kept);
  const restated = [...deltas].flatMap(([version, records]) => {
    const checkpoint = index.checkpoints.get(version)?.record;
    return checkpoint ? [...records, checkpoint] : records;
  });
  const needed = neededCalls(index, restated, kept, hasInverse);
  let order = -1;
  return entries.flatMap(({ position, generation, checksum, records }): readonly RestatedEntry[] => {
    const left = (records as readonly AgentRecord[]).flatMap((record): readonly AgentRecord[] => {
      order++;
      if (record.kind === "checkpoint")
        return kept.has(record.version) ? [...(deltas.get(record.version) ?? []), record] : [];
      return isKept(record, order, index, needed) ? [record] : [];
    });
    return left.length === 0 ? [] : [{ position, generation, checksum, records: left }];
  });
}

function isKept(record: AgentRecord, order: number, { latest }: LogProjection, needed: NeededCalls): boolean {
  if (record.kind === "snapshot" || record.kind === "pruned") return false;
  if (record.kind === "answer" || record.kind === "intent" || record.kind === "outcome") return needed.has(record);
  if (!stateKinds.has(record.kind)) return true;
  // No checkpoint restates what follows the head.
  return latest !== undefined && order > latest.order && "lane" in record && record.lane === latest.record.lane;
}

function deltasOf(index: LogProjection, kept: ReadonlySet<number>): ReadonlyMap<number, readonly AgentRecord[]> {
  const points = [...kept].flatMap((version) => index.checkpoints.get(version) ?? []).sort((a, b) => a.order - b.order);
  const lastOfLane = new Map<number, { readonly state: AgentState; readonly point: CheckpointPoint }>();
  const deltas = new Map<number, readonly AgentRecord[]>();
  for (const point of points) {
    const { lane } = point.record;
    const state = foldTo(index, point);
    if (!state) throw new RangeError(`Checkpoint ${point.id} begins before what was read.`);
    const before = lastOfLane.get(lane);
    const start = before?.state ?? laneStart(index, lane);
    deltas.set(point.version, stateDelta(start, state, lane, isTrim(index, point, before?.point.order ?? -1)));
    lastOfLane.set(lane, { state, point });
  }
  return deltas;
}

function laneStart(index: LogProjection, lane: number) {
  const start = index.lanes.get(lane)?.record;
  const from = start?.from === undefined ? undefined : index.checkpoints.get(start.from);
  return stateAtStart(from && foldTo(index, from), start?.keep ?? "nothing");
}

/** Whether all edits since a checkpoint of the same lane were trims: then readers can still restore the originals. */
function isTrim(index: LogProjection, { record, order }: CheckpointPoint, after: number): boolean {
  const edits = (index.laneRecords.get(record.lane) ?? []).filter(
    (found) => found.record.kind === "edit" && found.order > after && found.order < order,
  );
  return edits.length > 0 && edits.every(({ record: edit }) => edit.kind === "edit" && edit.trim);
}
