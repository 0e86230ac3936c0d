import type { FileChange } from "../../checkpoint/data/FileChange.ts";
import type { Note } from "../../journal/RollbackParticipant.ts";
import { type FileNote, fileNoteOf } from "../files/FileNote.ts";

export interface NotedChange extends FileChange {
  /** The change may not have happened. */
  readonly uncertain: boolean;
  /**
   * A command made the change, and another change of the same file was noted during the command. This change started
   * first.
   */
  readonly during: boolean;
  /** An interrupted command or others made the change. */
  readonly interrupted: boolean;
}

/**
 * Returns the changes in notes. A file tool notes its intent, so a crash, a failure or a repeated call leaves open
 * whether the change happened. A capture notes detected changes.
 *
 * @param notes oldest first
 * @throws UnreadableValueError, PathNotAllowedError
 */
export function notedChanges(notes: readonly Note[]): readonly NotedChange[] {
  const read = notes.map((note) => ({ ...note, files: fileNoteOf(note.value) }));
  const intents = new Map(
    read.flatMap(({ toolCallId, files }, at) =>
      toolCallId !== undefined && !isFound(files) ? [[toolCallId, at]] : [],
    ),
  );
  const began = new Map<string, number>();
  const changedAt = new Map<string, number>();
  return read.flatMap(({ files, toolCallId, uncertain = false }, at) => {
    if (files.began !== undefined) began.set(files.began, at);
    const isRepeated = toolCallId !== undefined && intents.get(toolCallId) !== at;
    const isOpen = !isFound(files) && (uncertain || isRepeated);
    const from = began.get(files.ended ?? "") ?? at;
    return files.changes.map((change) => {
      const during = (changedAt.get(change.path) ?? -1) > from;
      changedAt.set(change.path, at);
      return { ...change, uncertain: isOpen, during, interrupted: files.interrupted === true };
    });
  });
}

/** Returns whether a note contains changes that a capture detected. */
function isFound({ ended }: FileNote): boolean {
  return ended !== undefined;
}
