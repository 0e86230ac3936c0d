import { isBelow, isOnWayTo } from "../checkpoint/state/lineage.ts";
import type { CheckpointPoint, LogProjection } from "../checkpoint/state/LogProjection.ts";
import type { NoteRecord } from "../checkpoint/records/NoteRecord.ts";

/** The notes of a key on the way to a checkpoint that are not reverted, oldest first. */
export function notesBefore(index: LogProjection, target: CheckpointPoint, key: string): readonly NoteRecord[] {
  return notesWhere(index, key, (lane, order) => isOnWayTo(index, lane, order, target));
}

/** The notes of a key that a rollback to a checkpoint reverts, newest first, those on abandoned lanes included. */
export function notesBelow(index: LogProjection, target: CheckpointPoint, key: string): readonly NoteRecord[] {
  return notesWhere(index, key, (lane, order) => isBelow(index, lane, order, target)).reverse();
}

function notesWhere(
  { notes, revertedNotes }: LogProjection,
  key: string,
  isThere: (lane: number, order: number) => boolean,
): NoteRecord[] {
  const found = notes.filter(
    (note) => note.record.key === key && !revertedNotes.has(note) && isThere(note.record.lane, note.order),
  );
  return found.map(({ record }) => record);
}
