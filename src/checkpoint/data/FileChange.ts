/** A file as it was at some time. What it contained is kept by hash. */
export type FileState =
  | {
      readonly kind: "file";
      /** SHA-256 of the content, 64 lower-case hex characters. */
      readonly hash: string;
      /** Length of the content. */
      readonly bytes: number;
      /** Permission bits, such as 0o644. */
      readonly mode: number;
    }
  | {
      readonly kind: "link";
      /** As it stands in the link: it need not exist, and is never followed. */
      readonly target: string;
    };

/** What became of a file. */
export interface FileChange {
  /** Relative to the root of the workspace, with "/" between the names. */
  readonly path: string;
  /** Absent: there was no file. */
  readonly before?: FileState;
  /** Absent: there is no file. */
  readonly after?: FileState;
}

/** Changes of files, each path once, by what became of it. A renamed file was deleted and created. */
export interface FileChanges {
  readonly modified: readonly FileChange[];
  readonly created: readonly FileChange[];
  readonly deleted: readonly FileChange[];
}

/** The key of the notes that hold changes of files. */
export const fileNoteKey = "files";

/** The changes in a note; stored values are not to be trusted, and what is no change is left out. */
export function fileChangesIn(note: unknown): readonly FileChange[] {
  const changes = (note as { readonly changes?: unknown } | null | undefined)?.changes;
  return Array.isArray(changes) ? changes.filter(isFileChange) : [];
}

/** Whether two states are the same file, to the byte and the permission. */
export function isSameFile(a: FileState | undefined, b: FileState | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.kind === "link") return b.kind === "link" && a.target === b.target;
  return b.kind === "file" && a.hash === b.hash && a.mode === b.mode;
}

/** What several changes, oldest first, come to; a file that is as it was is not in it. */
export function summarizeFileChanges(changes: readonly FileChange[]): FileChanges {
  const byPath = new Map<string, FileChange>();
  for (const change of changes) {
    const { before } = byPath.get(change.path) ?? change;
    const { path, after } = change;
    byPath.set(path, { path, ...(before && { before }), ...(after && { after }) });
  }
  const changed = [...byPath.values()].filter(({ before, after }) => !isSameFile(before, after));
  return {
    modified: changed.filter(({ before, after }) => before && after),
    created: changed.filter(({ before }) => !before),
    deleted: changed.filter(({ after }) => !after),
  };
}

/** Whether a stored value has the form of a change. Its path is not judged here. */
export function isFileChange(value: unknown): value is FileChange {
  if (typeof value !== "object" || value === null) return false;
  const { path, before, after } = value as Readonly<Record<string, unknown>>;
  return typeof path === "string" && isStateOrAbsent(before) && isStateOrAbsent(after);
}

function isStateOrAbsent(value: unknown): boolean {
  if (value === undefined) return true;
  if (typeof value !== "object" || value === null) return false;
  const { kind, hash, bytes, mode, target } = value as Readonly<Record<string, unknown>>;
  if (kind === "link") return typeof target === "string" && target !== "" && !target.includes("\0");
  const isHash = typeof hash === "string" && /^[0-9a-f]{64}$/.test(hash);
  const isMode = Number.isInteger(mode) && (mode as number) >= 0 && (mode as number) <= 0o777;
  return kind === "file" && isHash && Number.isSafeInteger(bytes) && isMode;
}
