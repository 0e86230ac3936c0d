import { isOnWayTo } from "../checkpoint/state/lineage.ts";
import type { CheckpointPoint, LogProjection } from "../checkpoint/state/LogProjection.ts";
import type { NoteRecord } from "../checkpoint/records/NoteRecord.ts";

/** The notes of a key on the way to a checkpoint that were not taken back, oldest first. */
export function notesBefore(index: LogProjection, target: CheckpointPoint, key: string): readonly NoteRecord[] {
  const before = index.notes.filter(
    (note) =>
      note.record.key === key &&
      !index.notesTakenBack.has(note) &&
      isOnWayTo(index, note.record.lane, note.order, target),
  );
  return before.map(({ record }) => record);
}
