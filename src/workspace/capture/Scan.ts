import type { FileState } from "../../checkpoint/FileChange.ts";
import type { LeftOutFile } from "../files/FileNote.ts";

/** A file as a scan found it. */
export interface ScannedFile {
  /** Absent: it is not kept, see `leftOut`. */
  readonly state?: FileState;
  /** Size, times and place on the disk: while they are the same, the file is, if it was `settled`. */
  readonly stamp: string;
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
