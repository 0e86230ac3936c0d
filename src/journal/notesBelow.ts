import { isBelow } from "../checkpoint/state/lineage.ts";
import type { CheckpointPoint, LogProjection } from "../checkpoint/state/LogProjection.ts";
import type { NoteRecord } from "../checkpoint/records/NoteRecord.ts";

/** The notes of a key that a rollback to a checkpoint has to take back, newest first; lines that were left included. */
export function notesBelow(index: LogProjection, target: CheckpointPoint, key: string): readonly NoteRecord[] {
  const below = index.notes.filter(
    (note) =>
      note.record.key === key &&
      !index.notesTakenBack.has(note) &&
      isBelow(index, note.record.lane, note.order, target),
  );
  return below.map(({ record }) => record).reverse();
}
