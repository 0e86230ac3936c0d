import { isSameFile, type FileChange } from "../../checkpoint/data/FileChange.ts";
import type { FileNote, LeftOutFile } from "../files/FileNote.ts";
import { isSameStamp, type Scan, type ScannedFile } from "./Scan.ts";

/** What became of files between two scans, and which of those that are not kept changed too. */
export function changesBetween(before: Scan, after: Scan): Required<Pick<FileNote, "changes" | "folders" | "leftOut">> {
  const paths = new Set([...before.files.keys(), ...after.files.keys()]);
  const changes: FileChange[] = [];
  const leftOut: LeftOutFile[] = [];
  for (const path of paths) {
    const [was, is] = [before.files.get(path), after.files.get(path)];
    const reason = was?.leftOut ?? is?.leftOut;
    if (reason === undefined) changes.push(...changeOf(path, was, is));
    else if (!was || !is || !isSameStamp(was.stamp, is.stamp)) leftOut.push({ path, reason });
  }
  return { changes, leftOut, folders: [...after.folders].filter((folder) => !before.folders.has(folder)) };
}

function changeOf(path: string, was: ScannedFile | undefined, is: ScannedFile | undefined): readonly FileChange[] {
  if (isSameFile(was?.state, is?.state)) return [];
  return [{ path, ...(was?.state && { before: was.state }), ...(is?.state && { after: is.state }) }];
}
