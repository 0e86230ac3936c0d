import type { FileChange } from "../../checkpoint/data/FileChange.ts";
import type { Note } from "../../journal/RollbackParticipant.ts";
import { type FileNote, fileNoteOf } from "../files/FileNote.ts";

/** A change that a note tells of. */
export interface NotedChange extends FileChange {
  /** It may not have happened. */
  readonly uncertain: boolean;
  /** A command made it, and another change of the same file was noted while the command ran: it begins before that one. */
  readonly during: boolean;
  /** A command that was interrupted made it, or others did. */
  readonly interrupted: boolean;
}

/**
 * The changes of notes. A file tool notes what it is about to do, so a crash, a failure or a repetition of its call leaves
 * open whether it did; a capture notes what it found.
 *
 * @param notes oldest first.
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

/** Whether a note tells what a capture found, not what a tool is about to do. */
function isFound({ ended }: FileNote): boolean {
  return ended !== undefined;
}
