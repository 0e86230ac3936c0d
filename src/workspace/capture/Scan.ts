import type { FileState } from "../../checkpoint/data/FileChange.ts";
import type { LeftOutFile } from "../files/FileNote.ts";

/** Size, times, mode and place on the disk: while they are the same, a file is, if it was settled. */
export interface FileStamp {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
  readonly mode: number;
}

/** A file as a scan found it. */
export interface ScannedFile {
  /** Absent: it is not kept, see `leftOut`. */
  readonly state?: FileState;
  readonly stamp: FileStamp;
  /** False for a file that had changed so lately that its next change may have the same times. */
  readonly settled: boolean;
  /** Why it is not kept, to be read after its path. */
  readonly leftOut?: string;
}

/** Everything in a folder that is not ignored, at one time. */
export interface Scan {
  readonly files: ReadonlyMap<string, ScannedFile>;
  readonly folders: ReadonlySet<string>;
}

/** A scan of an empty folder. */
export const emptyScan: Scan = { files: new Map(), folders: new Set() };

/** The files of a scan that are not kept, with why. */
export function leftOutOf({ files }: Scan): readonly LeftOutFile[] {
  return [...files].flatMap(([path, { leftOut }]) => (leftOut === undefined ? [] : [{ path, reason: leftOut }]));
}

/** Whether two stamps are the same. */
export function isSameStamp(a: FileStamp, b: FileStamp): boolean {
  return (
    a.ctimeMs === b.ctimeMs && a.mtimeMs === b.mtimeMs && a.size === b.size && a.ino === b.ino && a.mode === b.mode
  );
}
