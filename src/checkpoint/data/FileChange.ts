import { withoutUndefined } from "../../internal/withoutUndefined.ts";

/** The state of a file. The hash identifies its content. */
export type FileState =
  | {
      readonly kind: "file";
      /** SHA-256 of the content: 64 lower-case hex characters. */
      readonly hash: string;
      readonly bytes: number;
      /** Permission bits, such as 0o644. */
      readonly mode: number;
    }
  | {
      readonly kind: "link";
      /** The target of a symbolic link, which can be missing. The library never follows links. */
      readonly target: string;
    };

export interface FileChange {
  /** Relative to the root of the workspace, with "/" as separator. */
  readonly path: string;
  /** `undefined` for a created file. */
  readonly before?: FileState;
  /** `undefined` for a deleted file. */
  readonly after?: FileState;
}

/** File changes with unique paths. A rename is a deletion and a creation. */
export interface FileChanges {
  readonly modified: readonly FileChange[];
  readonly created: readonly FileChange[];
  readonly deleted: readonly FileChange[];
}

export const fileNoteKey = "files";

export function fileChangesIn(note: unknown): readonly FileChange[] {
  const changes = (note as { readonly changes?: unknown } | null | undefined)?.changes;
  return Array.isArray(changes) ? changes.filter(isFileChange) : [];
}

export function isSameFile(a: FileState | undefined, b: FileState | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.kind === "link") return b.kind === "link" && a.target === b.target;
  return b.kind === "file" && a.hash === b.hash && a.mode === b.mode;
}

/** Adds changes, oldest first, to a map by path. The map keeps the first `before` and the last `after` of each file. */
export function mergeFileChanges(
  changes: readonly FileChange[],
  byPath: Map<string, FileChange> = new Map(),
): Map<string, FileChange> {
  for (const { path, before, after } of changes) {
    const first = byPath.get(path) ?? { before };
    byPath.set(path, withoutUndefined({ path, before: first.before, after }));
  }
  return byPath;
}

/** Combines changes, oldest first. Omits files whose last state equals their first state. */
export function summarizeFileChanges(changes: readonly FileChange[]): FileChanges {
  const changed = [...mergeFileChanges(changes).values()].filter(({ before, after }) => !isSameFile(before, after));
  return {
    modified: changed.filter(({ before, after }) => before && after),
    created: changed.filter(({ before }) => !before),
    deleted: changed.filter(({ after }) => !after),
  };
}

export function isFileChange(value: unknown): value is FileChange {
  if (typeof value !== "object" || value === null) return false;
  const { path, before, after } = value as Readonly<Record<string, unknown>>;
  return typeof path === "string" && isStateOrAbsent(before) && isStateOrAbsent(after);
}

function isStateOrAbsent(value: unknown): boolean {
  return value === undefined || isFileState(value);
}

export function isFileState(value: unknown): value is FileState {
  if (typeof value !== "object" || value === null) return false;
  const { kind, hash, bytes, mode, target } = value as Readonly<Record<string, unknown>>;
  if (kind === "link") return typeof target === "string" && target !== "" && !target.includes("\0");
  const isHash = typeof hash === "string" && /^[0-9a-f]{64}$/.test(hash);
  return kind === "file" && isHash && Number.isSafeInteger(bytes) && isMode(mode);
}

function isMode(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 0o777;
}
