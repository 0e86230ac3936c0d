import type { FileState } from "../../checkpoint/data/FileChange.ts";
import type { LeftOutFile } from "../files/FileNote.ts";

/** Which file or folder it is, whatever its name. An inode is used again once its file is gone, with another time of birth. */
export interface FileIdentity {
  readonly ino: number;
  readonly birthtimeMs: number;
  /** How many names it has; 1 for a folder. */
  readonly nlink: number;
}

/** Size, times, mode and inode of a file. While they are the same, a `settled` file is unchanged. */
export interface FileStamp extends FileIdentity {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly mode: number;
}

export interface ScannedFile {
  /** Absent: its content is not kept, see `leftOut`. */
  readonly state?: FileState;
  readonly stamp: FileStamp;
  /** False for a file that changed so recently that its next change may have the same times. */
  readonly settled: boolean;
  /** Why its content, or a part of what it is, is not kept; follows the path in messages. */
  readonly leftOut?: string;
}

export interface ScannedFolder extends FileIdentity {
  /** Its permissions. */
  readonly mode: number;
}

/** Something that is there and that a scan does not look into. */
export interface HiddenEntry {
  /** Why; follows the path in messages. Absent: a rule ignores it. */
  readonly reason?: string;
  /** Absent: it was gone before it could be looked at. */
  readonly identity?: FileIdentity;
  /** Absent: changes in it are not seen. */
  readonly stamp?: FileStamp;
}

/** A folder with everything below it, at one time. */
export interface Scan {
  /** When it began, by the time of the file system. 0: it cannot be told. */
  readonly began: number;
  readonly files: ReadonlyMap<string, ScannedFile>;
  readonly folders: ReadonlyMap<string, ScannedFolder>;
  /** Ignored files and folders, those that cannot be read, and names that no tool can reach. */
  readonly hidden: ReadonlyMap<string, HiddenEntry>;
  /** Files of the scan before that were looked for where a rule ignores them now, and are not there. */
  readonly gone: ReadonlySet<string>;
}

/** A scan of an empty folder. */
export const emptyScan: Scan = { began: 0, files: new Map(), folders: new Map(), hidden: new Map(), gone: new Set() };

/** What a scan does not keep, with the reason. What a rule ignores is not among it. */
export function leftOutOf({ files, hidden }: Scan): readonly LeftOutFile[] {
  return [
    ...[...files].flatMap(([path, { leftOut: reason }]) => (reason === undefined ? [] : [{ path, reason }])),
    ...[...hidden].flatMap(([path, { reason }]) => (reason === undefined ? [] : [{ path, reason }])),
  ];
}

/**
 * Tells whether something was there under another path before a scan, and its content was not kept: the scan saw it and did
 * not keep it, or did not see it, and it is older than the scan and has no other name.
 */
export function unkeptIn(scan: Scan): (path: string, found: FileIdentity) => boolean {
  let seen: ReadonlyMap<number, SeenEntry> | undefined;
  return (path, { ino, birthtimeMs, nlink }) => {
    const before = (seen ??= byInode(scan)).get(ino);
    if (before?.birthtimeMs === birthtimeMs) return !before.isKept && before.path !== path;
    return nlink === 1 && birthtimeMs > 0 && birthtimeMs < scan.began;
  };
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

/** The hidden entry at a path or above it, with its own path. */
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
