import type { FileState } from "../../checkpoint/data/FileChange.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import type { LeftOutFile } from "../files/FileNote.ts";
import { relativePath } from "../files/relativePath.ts";
import { isUnfinished } from "../files/replaceFile.ts";
import ignore, { type Ignore } from "ignore";
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync, readlinkSync } from "node:fs";

export interface ScanOptions {
  readonly root: string;
  readonly rules: IgnoreRules;
  readonly maximumFileBytes: number;
  readonly maximumFiles: number;
  /** Called with the content of each new or changed file. */
  readonly onContent: (hash: string, content: Uint8Array) => void | Promise<void>;
}

/** A file that changed more recently may change again with the same time stamp, so the next scan reads it again. */
const settledAfterMs = 100;
/** The number of files after which the scan yields to other work. */
const filesPerTurn = 1_000;
/** Names that need no further check. */
const ordinaryName = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Scans a folder, and reads each file that changed since the scan `before`. Follows no link. */
export async function scanFolder(options: ScanOptions, before: Scan): Promise<Scan> {
  const walk: Walk = { ...options, before, files: new Map(), folders: new Set() };
  await scanInto(walk, "", options.rules);
  return walk;
}

interface Walk extends ScanOptions {
  readonly before: Scan;
  readonly files: Map<string, ScannedFile>;
  readonly folders: Set<string>;
}

async function scanInto(walk: Walk, folder: string, outer: IgnoreRules): Promise<void> {
  const entries = entriesOf(`${walk.root}/${folder}`);
  const gitignore = entries.find((entry) => entry.name === ".gitignore" && entry.isFile());
  const rules = gitignore ? outer.within(folder, readText(`${walk.root}/${folder}/.gitignore`)) : outer;
  for (const entry of entries) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    const isFolder = entry.isDirectory();
    if (!isKept(entry.name, path) || rules.ignores(path, isFolder)) continue;
    if (isFolder) {
      walk.folders.add(path);
      await scanInto(walk, path, rules);
    } else await scanFile(walk, path);
  }
}

/** Leaves out temporary files, and names that no tool can reach. */
function isKept(name: string, path: string): boolean {
  if (ordinaryName.test(name)) return true;
  if (isUnfinished(name)) return false;
  try {
    return relativePath(path) === path;
  } catch {
    return false;
  }
}

async function scanFile(walk: Walk, path: string): Promise<void> {
  if (walk.files.size % filesPerTurn === filesPerTurn - 1) await nextTurn();
  const at = `${walk.root}/${path}`;
  const found = lstatSync(at, { throwIfNoEntry: false });
  if (!found) return;
  const known = walk.before.files.get(path);
  if (known?.settled && isSameStamp(known.stamp, found)) return void walk.files.set(path, known);
  const { size, mtimeMs, ctimeMs, ino, mode } = found;
  const stamp = { size, mtimeMs, ctimeMs, ino, mode };
  const settled = Date.now() - ctimeMs > settledAfterMs;
  const isBeyond = walk.files.size >= walk.maximumFiles;
  const looked = isBeyond
    ? { leftOut: `is beyond the ${walk.maximumFiles} files that are kept` }
    : await lookAt(walk, at, found);
  walk.files.set(path, { stamp, settled, ...looked });
}

async function lookAt(
  { maximumFileBytes, onContent }: Walk,
  at: string,
  found: { isSymbolicLink(): boolean; isFile(): boolean; readonly size: number },
): Promise<Pick<ScannedFile, "state" | "leftOut">> {
  if (found.isSymbolicLink()) return { state: { kind: "link", target: readlinkSync(at) } };
  if (!found.isFile()) return { leftOut: "is neither a file nor a link" };
  if (found.size > maximumFileBytes)
    return { leftOut: `has ${found.size} bytes, and the workspace keeps files of at most ${maximumFileBytes}` };
  const read = readWhole(at);
  if (!read) return { leftOut: "could not be read" };
  const hash = nodeSha256.hex(read.content);
  await onContent(hash, read.content);
  return { state: { kind: "file", hash, bytes: read.content.length, mode: read.mode } };
}

function readWhole(at: string): { readonly content: Uint8Array; readonly mode: number } | undefined {
  try {
    const descriptor = openSync(at, flags);
    try {
      return { content: readFileSync(descriptor), mode: fstatSync(descriptor).mode & 0o777 };
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return undefined;
  }
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    // Removed since its folder was listed.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function readText(path: string): string {
  return new TextDecoder().decode(readWhole(path)?.content);
}

/** Size, times, mode and inode of a file. While they are the same, a `settled` file is unchanged. */
export interface FileStamp {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
  readonly mode: number;
}

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
export function leftOutOf({ files }: Scan): readonly LeftOutFile[] {
  return [...files].flatMap(([path, { leftOut }]) => (leftOut === undefined ? [] : [{ path, reason: leftOut }]));
}

export function isSameStamp(a: FileStamp, b: FileStamp): boolean {
  return (
    a.ctimeMs === b.ctimeMs && a.mtimeMs === b.mtimeMs && a.size === b.size && a.ino === b.ino && a.mode === b.mode
  );
}

interface FolderRules {
  /** The index in a path at which the part below the folder begins. */
  readonly offset: number;
  readonly rules: Ignore;
}

/**
 * The paths that a scan skips: by the `.gitignore` files on the way, the innermost last, and then by the rules of the
 * workspace. As in git, a later rule can include what an earlier rule ignored, but nothing below an ignored folder.
 */
export class IgnoreRules {
  private constructor(
    readonly folders: readonly FolderRules[],
    readonly own: readonly FolderRules[],
    /** Parsed rules by their text: they cache their answers, and most are the same in the next scan. */
    readonly parsed: Map<string, Ignore>,
  ) {}

  /** @param own patterns in the form of a `.gitignore` in the root. */
  static of(own: readonly string[]): IgnoreRules {
    const rules = own.length > 0 ? [{ offset: 0, rules: rulesOf(own.join("\n")) }] : [];
    return new IgnoreRules([], rules, new Map());
  }

  /** The rules below a folder that has a `.gitignore`. @param folder its path; empty for the root. */
  within(folder: string, gitignore: string): IgnoreRules {
    const key = `${folder}\0${gitignore}`;
    const rules = this.parsed.get(key) ?? rulesOf(gitignore);
    this.parsed.set(key, rules);
    const offset = folder === "" ? 0 : folder.length + 1;
    return new IgnoreRules([...this.folders, { offset, rules }], this.own, this.parsed);
  }

  ignores(path: string, isFolder: boolean): boolean {
    const judges = this.own.length > 0 ? [...this.folders, ...this.own] : this.folders;
    let ignored = false;
    for (const { offset, rules } of judges) {
      const { ignored: leaves, unignored: keeps } = rules.test(`${path.slice(offset)}${isFolder ? "/" : ""}`);
      if (leaves) ignored = true;
      if (keeps) ignored = false;
    }
    return ignored;
  }
}

function rulesOf(patterns: string): Ignore {
  return ignore({ ignorecase: false }).add(patterns);
}
