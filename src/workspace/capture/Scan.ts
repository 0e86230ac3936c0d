import type { FileState } from "../../checkpoint/data/FileChange.ts";
import type { SkippedFile } from "../files/FileNote.ts";

/** Size, times, mode and inode of a file. While they are the same, a `settled` file is unchanged. */
export interface FileStamp {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
  readonly mode: number;
}

/** A file in a scan. */
export interface ScannedFile {
  /** Absent: its content is not kept, see `leftOut`. */
  readonly state?: FileState;
  readonly stamp: FileStamp;
  /** False for a file that changed so recently that its next change may have the same times. */
  readonly settled: boolean;
  /** Why its content is not kept; follows the path in messages. */
  readonly leftOut?: string;
}

/** All files and folders that are not ignored, at one time. */
export interface Scan {
  readonly files: ReadonlyMap<string, ScannedFile>;
  readonly folders: ReadonlySet<string>;
}

/** A scan of an empty folder. */
export const emptyScan: Scan = { files: new Map(), folders: new Set() };

/** The files of a scan whose contents are not kept, with the reason. */
export function skippedIn({ files }: Scan): readonly SkippedFile[] {
  return [...files].flatMap(([path, { leftOut }]) => (leftOut === undefined ? [] : [{ path, reason: leftOut }]));
}

/** Whether two stamps are the same. */
export function isSameStamp(a: FileStamp, b: FileStamp): boolean {
  return (
    a.ctimeMs === b.ctimeMs && a.mtimeMs === b.mtimeMs && a.size === b.size && a.ino === b.ino && a.mode === b.mode
  );
}
