import { isFileChange, type FileChange } from "../../checkpoint/data/FileChange.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import { relativePath } from "./relativePath.ts";

/** What a workspace notes before it changes files, or when it found them changed. */
export interface FileNote {
  readonly changes: readonly FileChange[];
  /** Folders that were made for them, outermost first. Absent: none. */
  readonly folders?: readonly string[];
  /** Files that changed and are not kept, with why. Absent: none. */
  readonly leftOut?: readonly LeftOutFile[];
  /** A piece of work begins whose changes are found out at its end. A beginning without its end was cut short. */
  readonly began?: string;
  readonly ended?: string;
}

/** What notes say that a rollback cannot bring back. @param notes oldest first. */
export function unknownIn(notes: readonly FileNote[]): readonly LeftOutFile[] {
  const ended = new Set(notes.map((note) => note.ended));
  const cutShort = notes.filter(({ began }) => began !== undefined && !ended.has(began));
  const reason = "may hold changes of a command that was cut short";
  return [...notes.flatMap(({ leftOut = [] }) => leftOut), ...cutShort.slice(0, 1).map(() => ({ path: ".", reason }))];
}

/** A file that a scan did not take in. */
export interface LeftOutFile {
  readonly path: string;
  /** To be read after the path. */
  readonly reason: string;
}

/**
 * A note as it was stored, judged again: its paths are not to be trusted.
 *
 * @throws UnreadableValueError, PathNotAllowedError
 */
export function fileNoteOf(value: unknown): FileNote {
  const { changes, folders = [], leftOut = [], began, ended } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (!Array.isArray(changes) || !changes.every(isFileChange) || !isListOf(folders, isText))
    throw new UnreadableValueError("a note of changed files has another form");
  for (const path of [...changes.map((change) => change.path), ...folders]) assertPath(path);
  return {
    changes,
    folders,
    leftOut: isListOf(leftOut, isLeftOut) ? leftOut : [],
    ...(isText(began) && { began }),
    ...(isText(ended) && { ended }),
  };
}

/** Only in the form in which paths are kept: another would be another key for the same file. */
function assertPath(path: string): void {
  if (relativePath(path) !== path)
    throw new UnreadableValueError(`a note of changed files has the path ${JSON.stringify(path)}`);
}

function isListOf<Item>(value: unknown, isItem: (item: unknown) => item is Item): value is readonly Item[] {
  return Array.isArray(value) && value.every(isItem);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isLeftOut(value: unknown): value is LeftOutFile {
  if (typeof value !== "object" || value === null) return false;
  return isText((value as LeftOutFile).path) && isText((value as LeftOutFile).reason);
}
