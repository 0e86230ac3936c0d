import { isSameFile, type FileChange } from "../../checkpoint/data/FileChange.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { FileNote, FolderChange, LeftOutFile } from "../files/FileNote.ts";
import { hiddenAt, isSameStamp, type Scan, type ScannedFile } from "./Scan.ts";

/** What a note tells of the changes between two scans. */
export type NotedScan = Required<Pick<FileNote, "changes" | "folders" | "folderModes" | "leftOut">>;

/**
 * The changes between two scans, and what cannot be told or kept. What one scan did not look into was neither created nor
 * deleted.
 */
export function changesBetween(before: Scan, after: Scan): NotedScan {
  const changes: FileChange[] = [];
  const leftOut = new Map<string, string>();
  for (const path of new Set([...before.files.keys(), ...after.files.keys()])) {
    const [was, is] = [before.files.get(path), after.files.get(path)];
    const unknown = unknownAt(path, was, is, { before, after });
    if (unknown) leftOut.set(unknown.path, unknown.reason);
    else if (unknown === undefined) addChange(path, was, is, changes, leftOut);
  }
  for (const { path, reason } of changedHidden(before, after)) leftOut.set(path, reason);
  return {
    changes,
    folders: [...after.folders.keys()].filter((path) => !before.folders.has(path) && !hiddenAt(before, path)),
    folderModes: folderModes(before, after),
    leftOut: [...leftOut].map(([path, reason]) => ({ path, reason })),
  };
}

/** What hides one side of a file; `null`: it is hidden and did not change; `undefined`: both sides are known. */
function unknownAt(
  path: string,
  was: ScannedFile | undefined,
  is: ScannedFile | undefined,
  { before, after }: { readonly before: Scan; readonly after: Scan },
): LeftOutFile | null | undefined {
  if (was && is) return undefined;
  const [hidden, entry] = hiddenAt(was ? after : before, path) ?? [];
  if (hidden === undefined || !entry) return undefined;
  if (hidden === path && entry.stamp && isSameStamp(entry.stamp, (was ?? is)?.stamp)) return null;
  const when = was ? "after the command" : "when the command began";
  return { path: hidden, reason: `${entry.reason ?? "was ignored"} ${when}, so changes in it are not known` };
}

function addChange(
  path: string,
  was: ScannedFile | undefined,
  is: ScannedFile | undefined,
  changes: FileChange[],
  leftOut: Map<string, string>,
): void {
  const reason = was?.leftOut ?? is?.leftOut;
  if (reason !== undefined && !(was && is && isSameStamp(was.stamp, is.stamp))) leftOut.set(path, reason);
  const isKept = isKnown(was) && isKnown(is);
  if (isKept && !isSameFile(was?.state, is?.state))
    changes.push(withoutUndefined({ path, before: was?.state, after: is?.state }));
}

function isKnown(file: ScannedFile | undefined): boolean {
  return file === undefined || file.state !== undefined;
}

/** What neither scan kept, and what is seen to have changed. */
function changedHidden(before: Scan, after: Scan): readonly LeftOutFile[] {
  return [...new Set([...before.hidden.keys(), ...after.hidden.keys()])].flatMap((path) => {
    const [was, is] = [before.hidden.get(path), after.hidden.get(path)];
    const reason = was?.reason ?? is?.reason;
    const isSame = was && is && isSameStamp(was.stamp, is.stamp);
    const isLooked = before.files.has(path) || after.files.has(path) || before.folders.has(path);
    return reason === undefined || isSame || isLooked ? [] : [{ path, reason }];
  });
}

function folderModes(before: Scan, after: Scan): readonly FolderChange[] {
  return [...before.folders].flatMap(([path, mode]): FolderChange[] => {
    const now = after.folders.get(path);
    if (now === mode) return [];
    if (now === undefined) return hiddenAt(after, path) ? [] : [{ path, before: mode }];
    return [{ path, before: mode, after: now }];
  });
}
