import { isSameFile, type FileChange } from "../../checkpoint/data/FileChange.ts";
import { foldersAbove } from "../files/relativePath.ts";
import type { FileNote, FolderChange, LeftOutFile } from "../files/FileNote.ts";
import { hiddenAt, isSameStamp, type Scan, type ScannedFile, unkeptIn } from "./Scan.ts";

export type NotedScan = Required<Pick<FileNote, "changes" | "folders" | "folderModes" | "leftOut">>;

/**
 * Returns the changes between two scans, including changes that are unknown or not stored. If only one scan could read
 * an entry, the entry does not count as created or deleted. If this entry was moved, its new path does not count as
 * created by the command.
 */
export function changesBetween(before: Scan, after: Scan): NotedScan {
  const changes: FileChange[] = [];
  const leftOut = new Map<string, LeftOutFile>();
  const isUnkept = unkeptIn(before);
  const movedTo = (path: string) => movedPath(path, after, isUnkept);
  for (const path of changedPaths(before.files, after.files)) {
    const { change, unknown } = changeAt(path, before, after, movedTo);
    if (change) changes.push(change);
    if (unknown) leftOut.set(unknown.path, unknown);
  }
  for (const unknown of changedHidden(before, after)) leftOut.set(unknown.path, unknown);
  const created = [...after.folders].filter(
    ([path]) => !before.folders.has(path) && !hiddenAt(before, path) && movedTo(path) === undefined,
  );
  return {
    changes,
    folders: created.map(([path]) => path),
    // Includes the permissions of created directories.
    folderModes: [
      ...changedModes(before, after),
      ...created.map(([path, { mode }]) => ({ path, before: mode, after: mode })),
    ],
    leftOut: [...leftOut.values()],
  };
}

/** Returns the paths whose entries may differ. An unchanged settled file is the same object in both scans. */
function changedPaths(before: Scan["files"], after: Scan["files"]): readonly string[] {
  const changed: string[] = [];
  let kept = 0;
  for (const [path, file] of before) {
    const now = after.get(path);
    if (now !== undefined) kept++;
    if (now !== file || !file.settled) changed.push(path);
  }
  return kept === after.size ? changed : [...changed, ...[...after.keys()].filter((path) => !before.has(path))];
}

interface FileDifference {
  readonly change?: FileChange;
  readonly unknown?: LeftOutFile | undefined;
}

/** @returns the path of an entry that existed before under another name and was not stored */
type MovedTo = (path: string) => string | undefined;

function changeAt(path: string, before: Scan, after: Scan, movedTo: MovedTo): FileDifference {
  const [was, is] = [before.files.get(path), after.files.get(path)];
  if (was && is) return modification(path, was, is, movedTo);
  if (was && after.gone.has(path)) return keptChange(path, was, "before");
  if (was) return hiddenDifference(path, was, after, "after the command") ?? keptChange(path, was, "before");
  if (!is) return {};
  const difference = hiddenDifference(path, is, before, "when the command began");
  return difference ?? movedDifference(movedTo(path)) ?? keptChange(path, is, "after");
}

function modification(path: string, was: ScannedFile, is: ScannedFile, movedTo: MovedTo): FileDifference {
  if (isSameStamp(was.stamp, is.stamp) && isSameFile(was.state, is.state)) return {};
  const reason = was.leftOut ?? is.leftOut;
  const unknown = reason === undefined ? undefined : { path, reason };
  if (!was.state || !is.state || isSameFile(was.state, is.state)) return { unknown };
  return movedDifference(movedTo(path)) ?? { change: { path, before: was.state, after: is.state }, unknown };
}

/** Reports the change as unknown, so that a rollback leaves the file, the only copy of its content, at the path. */
function movedDifference(path: string | undefined): FileDifference | undefined {
  if (path === undefined) return undefined;
  return {
    unknown: { path, reason: "existed before under another name, and its content was not stored", moved: true },
  };
}

function movedPath(path: string, after: Scan, isUnkept: ReturnType<typeof unkeptIn>): string | undefined {
  return [...foldersAbove(path), path].find((at) => {
    const found = after.folders.get(at) ?? after.files.get(at)?.stamp;
    return found !== undefined && isUnkept(at, found);
  });
}

/** Returns the difference for a file that only one scan could read. `undefined` if the file was created or deleted. */
function hiddenDifference(path: string, file: ScannedFile, other: Scan, when: string): FileDifference | undefined {
  const [hidden, entry] = hiddenAt(other, path) ?? [];
  if (hidden === undefined || !entry) return undefined;
  if (hidden === path && entry.stamp && isSameStamp(entry.stamp, file.stamp)) return {};
  return {
    unknown: { path: hidden, reason: `${entry.reason ?? "was ignored"} ${when}, so its changes are unknown` },
  };
}

function keptChange(path: string, { state, leftOut }: ScannedFile, side: "before" | "after"): FileDifference {
  const unknown = leftOut === undefined ? undefined : { path, reason: leftOut };
  return state ? { change: { path, [side]: state }, unknown } : { unknown };
}

/** Returns the entries that neither scan read and whose stamps differ. */
function changedHidden(before: Scan, after: Scan): readonly LeftOutFile[] {
  return [...new Set([...before.hidden.keys(), ...after.hidden.keys()])].flatMap((path) => {
    const [was, is] = [before.hidden.get(path), after.hidden.get(path)];
    const reason = was?.reason ?? is?.reason ?? goneRepository(path, after);
    const isSame = was && is && isSameStamp(was.stamp, is.stamp);
    const isLooked = before.files.has(path) || after.files.has(path) || before.folders.has(path);
    return reason === undefined || isSame || isLooked ? [] : [{ path, reason }];
  });
}

/** Returns why a missing repository is reported, although its changes are ignored. */
function goneRepository(path: string, after: Scan): string | undefined {
  const isGone = /(?:^|\/)\.git$/.test(path) && !hiddenAt(after, path);
  return isGone ? "was deleted or moved, and repositories are not stored" : undefined;
}

function changedModes(before: Scan, after: Scan): readonly FolderChange[] {
  return [...before.folders].flatMap(([path, { mode }]): FolderChange[] => {
    const now = after.folders.get(path)?.mode;
    if (now === mode) return [];
    if (now === undefined) return hiddenAt(after, path) ? [] : [{ path, before: mode }];
    return [{ path, before: mode, after: now }];
  });
}
