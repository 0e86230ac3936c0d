import type { CheckpointRecord } from "../records/lineRecords.ts";
import type { NotePoint } from "../records/AgentRecord.ts";
import type { RollbackEndRecord, RollbackRecord } from "../records/rollbackRecords.ts";
import type { EndedRecord } from "../records/runRecords.ts";
import type { CheckpointPosition, FinishedRun } from "../records/SnapshotRecord.ts";
import { placesLeft, placesRejoined, type TreeOfRecords } from "./lineage.ts";

interface Point {
  readonly version: number;
  readonly order: number;
  readonly position: number;
  readonly runId: string;
  readonly record: CheckpointRecord;
}

interface RolledBackLog extends TreeOfRecords {
  readonly checkpoints: ReadonlyMap<number, Point>;
  readonly ends: ReadonlyMap<number, Pick<Point, "order" | "position"> & { readonly record: EndedRecord }>;
  readonly runs: ReadonlyMap<string, CheckpointPosition>;
  readonly notes: readonly NotePoint[];
  readonly rollback: RollbackRecord | undefined;
}

type Goal = Pick<RollbackEndRecord, "target" | "base">;

export function runsLeft(index: RolledBackLog, goal: Goal): readonly string[] {
  const points = pointsOf(index, goal);
  if (!points) return [];
  const isLeft = placesLeft(index, points.target, points.base);
  return [...index.runs].flatMap(([run, [end]]) => {
    const point = index.checkpoints.get(end) ?? index.ends.get(end);
    return point && isLeft(point.record.lane, point.order) ? [run] : [];
  });
}

/** Returns the runs before the run of a redo's target. The redo makes these runs finished again. */
export function runsRejoined(index: RolledBackLog, goal: Goal): readonly FinishedRun[] {
  const { target, base } = pointsOf(index, goal) ?? {};
  if (!target || !base) return [];
  const isRejoined = placesRejoined(index, target, base);
  const points = [...index.checkpoints.values()].filter(({ record }) => record.status !== undefined);
  const ends = [...index.ends.values()].map((end) => ({ ...end, runId: end.record.run }));
  return [...points, ...ends]
    .filter(({ record, order, runId }) => runId !== target.runId && isRejoined(record.lane, order))
    .toSorted((a, b) => a.order - b.order)
    .map(({ runId, record, position }) => ({
      run: runId,
      place: [record.version, position],
      isCancelled: record.status === "cancelled",
    }));
}

/** Returns the notes that a rollback reverts, and the notes that a redo makes valid again. */
export function notesAfter(
  index: RolledBackLog,
  goal: Goal,
): { readonly reverted: readonly NotePoint[]; readonly redone: readonly NotePoint[] } {
  const { participants = [] } = index.rollback ?? {};
  const { target, base } = pointsOf(index, goal) ?? {};
  if (!target || participants.length === 0) return { reverted: [], redone: [] };
  const keys = new Set(participants.map(({ key }) => key));
  const again = new Set(participants.flatMap((steps) => (steps.redone ? steps.key : [])));
  const isLeft = placesLeft(index, target, base);
  const isRejoined = base ? placesRejoined(index, target, base) : () => false;
  const where = (of: ReadonlySet<string>, isThere: (lane: number, order: number) => boolean) =>
    index.notes.filter(({ record, order }) => of.has(record.key) && isThere(record.lane, order));
  return { reverted: where(keys, isLeft), redone: where(again, isRejoined) };
}

function pointsOf(
  { checkpoints }: RolledBackLog,
  { target, base }: Goal,
): { readonly target: Point; readonly base: Point | undefined } | undefined {
  const point = checkpoints.get(target);
  const from = base === undefined ? undefined : checkpoints.get(base);
  return point && (from || base === undefined) ? { target: point, base: from } : undefined;
}
