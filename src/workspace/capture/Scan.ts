import type { FileState } from "../../checkpoint/data/FileChange.ts";
import type { LeftOutFile } from "../files/FileNote.ts";

/** Identifies a file or directory independently of its name. The birth time distinguishes reused inodes. */
export interface FileIdentity {
  readonly ino: number;
  readonly birthtimeMs: number;
  /** The number of hard links. 1 for a directory. */
  readonly nlink: number;
}

/** The size, times, mode and inode of a file. A `settled` file with an equal stamp is unchanged. */
export interface FileStamp extends FileIdentity {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly mode: number;
}

export interface ScannedFile {
  /** `undefined` if the content is not stored, see `leftOut`. */
  readonly state?: FileState;
  readonly stamp: FileStamp;
  /** `false` for a file that changed so recently that a further change may have the same times. */
  readonly settled: boolean;
  /** The reason why the file is not stored completely, as the end of a sentence that starts with the path. */
  readonly leftOut?: string;
}

export interface ScannedDirectory extends FileIdentity {
  readonly mode: number;
}

/** An existing entry that a scan does not read. */
export interface HiddenEntry {
  /** The reason, as the end of a sentence that starts with the path. Omitted if a rule ignores the entry. */
  readonly reason?: string;
  /** Omitted if the entry cannot be examined. */
  readonly identity?: FileIdentity;
  /** Omitted if changes of the entry are not detected. */
  readonly stamp?: FileStamp;
}

export interface Scan {
  /** The start of the scan in file system time, or 0 if unknown. */
  readonly began: number;
  readonly files: ReadonlyMap<string, ScannedFile>;
  readonly folders: ReadonlyMap<string, ScannedDirectory>;
  /** Ignored and unreadable entries, and entries with names that tools cannot reach. */
  readonly hidden: ReadonlyMap<string, HiddenEntry>;
  /** Files of the previous scan that are ignored now and no longer exist. */
  readonly gone: ReadonlySet<string>;
}

export const emptyScan: Scan = { began: 0, files: new Map(), folders: new Map(), hidden: new Map(), gone: new Set() };

/** Returns the files that a scan could not store, with the reason. Ignored files are excluded. */
export function leftOutOf({ files, hidden }: Scan): readonly LeftOutFile[] {
  return [
    ...[...files].flatMap(([path, { leftOut: reason }]) => (reason === undefined ? [] : [{ path, reason }])),
    ...[...hidden].flatMap(([path, { reason }]) => (reason === undefined ? [] : [{ path, reason }])),
  ];
}

/**
 * Returns a function that tests whether an entry existed under another path during a scan that did not store its
 * content. Either the scan saw the entry under the other path, or the scan missed an entry that is older than the scan
 * and has no other name.
 */
export function unkeptIn(scan: Scan): (path: string, found: FileIdentity) => boolean {
  let seen: ReadonlyMap<number, SeenEntry> | undefined;
  return (path, { ino, birthtimeMs, nlink }) => {
    const own = scan.folders.get(path) ?? keptAt(scan, path);
    if (own?.ino === ino && own.birthtimeMs === birthtimeMs) return false;
    const before = (seen ??= byInode(scan)).get(ino);
    if (before?.birthtimeMs === birthtimeMs) return !before.isKept && before.path !== path;
    return nlink === 1 && birthtimeMs > 0 && birthtimeMs < scan.began;
  };
}

function keptAt({ files }: Scan, path: string): FileIdentity | undefined {
  const file = files.get(path);
  return file?.state && file.stamp;
}

interface SeenEntry {
  readonly path: string;
  readonly birthtimeMs: number;
  readonly isKept: boolean;
}

function byInode({ files, folders, hidden }: Scan): ReadonlyMap<number, SeenEntry> {
  const seen = new Map<number, SeenEntry>();
  const add = (path: string, { ino, birthtimeMs }: FileIdentity, isKept: boolean) =>
    seen.set(ino, { path, birthtimeMs, isKept });
  for (const [path, { identity }] of hidden) if (identity) add(path, identity, false);
  for (const [path, folder] of folders) add(path, folder, true);
  for (const [path, { state, stamp }] of files) add(path, stamp, state !== undefined);
  return seen;
}

/** Returns the hidden entry at or above a path, with the path of that entry. */
export function hiddenAt({ hidden }: Scan, path: string): readonly [path: string, entry: HiddenEntry] | undefined {
  for (let at = path.length; at > 0; at = path.lastIndexOf("/", at - 1)) {
    const entry = hidden.get(path.slice(0, at));
    if (entry) return [path.slice(0, at), entry];
  }
  return undefined;
}

export function isSameStamp(a: FileStamp | undefined, b: FileStamp | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.ctimeMs === b.ctimeMs && a.mtimeMs === b.mtimeMs && a.size === b.size && a.ino === b.ino && a.mode === b.mode
  );
}
