import { lstatSync, readdirSync, type Stats } from "node:fs";
import { PathNotAllowedError } from "../../errors/workspaceErrors.ts";
import { type FilePlace, lstatOf, rootRefusal } from "../files/ConfinedFolder.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { OpenFolder } from "../files/OpenFolder.ts";
import { type FoundFile, isDirectory, readFile } from "../files/readFile.ts";
import { relativePath } from "../files/relativePath.ts";
import { Slice } from "../files/Slice.ts";
import { readPatterns } from "./GitView.ts";
import { isUnfinished } from "../files/StagedFile.ts";
import { fileSystemTime } from "./fileSystemTime.ts";
import { type IgnoreRules, mostPatterns } from "./IgnoreRules.ts";
import {
  type FileIdentity,
  type FileStamp,
  type HiddenEntry,
  hiddenAt,
  isSameStamp,
  type Scan,
  type ScannedFile,
  type ScannedDirectory,
} from "./Scan.ts";

export interface ScanOptions {
  readonly root: string;
  readonly rules: IgnoreRules;
  readonly maximumFileBytes: number;
  readonly maximumFiles: number;
  /** Returns whether a path is never scanned. Defaults to no such path. */
  readonly isClosed?: (path: string) => boolean;
  /** Called with the content of each new or changed file. */
  readonly onContent: (hash: string, content: Uint8Array) => void | Promise<void>;
}

/**
 * The age, in milliseconds, from which a file counts as settled. The next scan reads a younger file again, because a
 * further change may keep the time of the file.
 */
const settledAfterMs = 100;
/** The age from which a file counts as settled on a file system that stores times in steps of one or two seconds. */
const settledAfterSecondsMs = 2_100;
/** The number of unchanged files after which a scan reads the clock. */
const unchangedAtOnce = 16;
/** Matches names that need no further validation. */
const ordinaryName = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;
const ordinaryDepth = 50;
/** The names that a scan skips without a report. */
const ownNames: ReadonlySet<string> = new Set([".git", ".agent-persistence"]);
/** The reason why an entry is skipped, as the end of a sentence that starts with the path. */
const unreadable = "could not be read";
const tooManyPatterns = `exceeds the limit of ${mostPatterns} patterns, so not all of its patterns count`;

/**
 * Scans a directory and reads each file that changed since the scan `before`. Follows no links. Includes the files of
 * `before` even if a rule ignores them now.
 *
 * @throws FileAccessError
 */
export async function scanFolder(options: ScanOptions, before: Scan): Promise<Scan> {
  const root = openRoot(options.root);
  const walk: Walk = {
    ...options,
    began: fileSystemTime(root.at),
    before,
    files: new Map(),
    folders: new Map(),
    hidden: new Map(),
    gone: new Set(),
    slice: new Slice(),
    known: new KnownFiles(before.files),
  };
  try {
    await scanInto(walk, root, "", options.rules, 0);
    for (const path of walk.hidden.size > 0 ? before.files.keys() : [])
      if (!walk.files.has(path) && isIgnored(hiddenAt(walk, path)?.[1])) await scanIgnored(walk, root, path);
  } finally {
    root.close();
  }
  return walk;
}

interface Walk extends ScanOptions {
  readonly began: number;
  readonly before: Scan;
  readonly files: Map<string, ScannedFile>;
  readonly folders: Map<string, ScannedDirectory>;
  readonly hidden: Map<string, HiddenEntry>;
  readonly gone: Set<string>;
  readonly slice: Slice;
  readonly known: KnownFiles;
}

async function scanInto(
  walk: Walk,
  folder: OpenFolder,
  path: string,
  outer: IgnoreRules,
  depth: number,
): Promise<void> {
  const names = readdirSync(folder.at);
  const hasRules = names.includes(".gitignore");
  const rules = hasRules ? outer.within(path, readPatterns(`${folder.at}/.gitignore`)) : outer;
  const above = path === "" ? "" : `${path}/`;
  if (hasRules && rules.isCut) walk.hidden.set(`${above}.gitignore`, { reason: tooManyPatterns });
  let unchanged = 0;
  for (const name of names) {
    if (isUnchanged(walk, folder, above, name)) {
      if (++unchanged % unchangedAtOnce !== 0) continue;
    } else if (!isUnfinished(name)) {
      const rest = scanEntry(walk, folder, { name, above, depth }, rules);
      if (rest) await rest;
    }
    while (walk.slice.isOver) await walk.slice.turn();
  }
}

interface FoundEntry {
  readonly name: string;
  /** The part of the path before the name. */
  readonly above: string;
  readonly depth: number;
}

/** @returns a promise if work is left */
function scanEntry(
  walk: Walk,
  folder: OpenFolder,
  { name, above, depth }: FoundEntry,
  rules: IgnoreRules,
): Promise<void> | undefined {
  const path = above + name;
  const isOwn = ownNames.has(name) || walk.isClosed?.(path) === true;
  const reason = isOwn ? undefined : refusalOf(name, path, depth);
  if (reason !== undefined) return hide(walk, folder, { above, name, reason });
  const at = `${folder.at}/${name}`;
  const found = lstatOf(at);
  const isFolder = found?.isDirectory() === true;
  if (isOwn || rules.ignores(path, isFolder)) return hideIgnored(walk, path, found);
  if (isFolder) return scanSubfolder(walk, folder, { name, path }, rules, depth + 1);
  return scanFile(walk, { at, path }, found);
}

async function scanSubfolder(
  walk: Walk,
  parent: OpenFolder,
  { name, path }: { readonly name: string; readonly path: string },
  rules: IgnoreRules,
  depth: number,
): Promise<void> {
  const folder = openFolder(walk, parent, name, path);
  if (!folder) return;
  try {
    walk.folders.set(path, scannedFolder(folder.stats()));
    await scanInto(walk, folder, path, rules.below(path), depth);
  } finally {
    folder.close();
  }
}

function openRoot(path: string): OpenFolder {
  try {
    return OpenFolder.root(path);
  } catch (error) {
    throw rootRefusal(path, error);
  }
}

/** Returns `undefined` if the directory disappeared, was replaced, or cannot be read. Hides an unreadable directory. */
function openFolder(walk: Walk, parent: OpenFolder, name: string, path: string): OpenFolder | undefined {
  try {
    return parent.child(name);
  } catch (error) {
    if (isGone(error)) return undefined;
    const found = lstatOf(`${parent.at}/${name}`);
    if (found?.isDirectory()) walk.folders.set(path, scannedFolder(found));
    walk.hidden.set(path, { reason: unreadable, ...(found && { identity: identityOf(found) }) });
    return undefined;
  }
}

/** Scans a file of the previous scan that is ignored now, or notes that the file is gone. */
async function scanIgnored(walk: Walk, root: OpenFolder, path: string): Promise<void> {
  const names = path.split("/");
  const name = names.pop() ?? "";
  const opened: OpenFolder[] = [];
  try {
    for (const folder of names) opened.push((opened.at(-1) ?? root).child(folder));
    await scanFile(walk, { at: `${(opened.at(-1) ?? root).at}/${name}`, path });
    if (!walk.files.has(path) && !walk.hidden.has(path)) walk.gone.add(path);
  } catch (error) {
    if (isGone(error)) walk.gone.add(path);
    else walk.hidden.set(path, { reason: unreadable });
  } finally {
    for (const folder of opened) folder.close();
  }
}

/** Returns whether a directory was removed or replaced by a file or a link. */
function isGone(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "");
}

function scannedFolder(found: Stats): ScannedDirectory {
  return { mode: found.mode & 0o7777, ...identityOf(found) };
}

function identityOf(found: Stats): FileIdentity {
  const { ino, birthtimeMs, nlink } = found;
  return { ino, birthtimeMs, nlink: found.isDirectory() ? 1 : nlink };
}

/** Returns the reason why tools cannot reach a file of this name, or `undefined`. */
function refusalOf(name: string, path: string, depth: number): string | undefined {
  if (ordinaryName.test(name) && depth < ordinaryDepth) return undefined;
  if (name.includes("\uFFFD")) return "has a name that is not UTF-8";
  try {
    return relativePath(path) === path ? undefined : "has a name that the workspace does not store";
  } catch (error) {
    return `cannot be kept: ${error instanceof PathNotAllowedError ? error.reason : "its name is not allowed"}`;
  }
}

function hide(
  walk: Walk,
  folder: OpenFolder,
  { above, name, reason }: { readonly above: string; readonly name: string; readonly reason: string },
): undefined {
  for (const [shown, stamp] of stampsOf(folder.at, name))
    walk.hidden.set(`${above}${shown}`, { reason, stamp, identity: stamp });
}

/** Returns the stamps of all entries that Node shows under this name. Names that are not UTF-8 all look the same. */
function stampsOf(folder: string, name: string): readonly (readonly [shown: string, stamp: FileStamp])[] {
  const names = name.includes("\uFFFD")
    ? readdirSync(folder, { encoding: "buffer" }).filter((bytes) => bytes.toString() === name)
    : [Buffer.from(name)];
  return names.flatMap((bytes) => {
    const found = lstatOf(Buffer.concat([Buffer.from(`${folder}/`), bytes]));
    const shown = names.length === 1 ? name : `${name} (${bytes.toString("hex")})`;
    return found ? [[shown, stampOf(found)] as const] : [];
  });
}

/** Hides an ignored file, so that the file does not count as created when it is no longer ignored. */
function hideIgnored(walk: Walk, path: string, found: Stats | undefined): undefined {
  const stamp = found && stampOf(found);
  walk.hidden.set(path, withoutUndefined({ identity: stamp, stamp: found?.isDirectory() ? undefined : stamp }));
}

function isIgnored(entry: HiddenEntry | undefined): boolean {
  return entry !== undefined && entry.reason === undefined;
}

/**
 * Checks a file of the previous scan by its plain path, because the system resolves a plain path in half the time of a
 * path through a handle. Equal stamps prove that the file is unchanged, even if the plain path leads through a link by
 * now.
 */
function isUnchanged(walk: Walk, folder: OpenFolder, above: string, name: string): boolean {
  const [path = "", known] = walk.known.find(above, name) ?? [];
  if (!known?.settled) return false;
  const found = lstatOf(`${folder.plainPath}/${name}`);
  if (!found || !isSameStamp(known.stamp, found)) return false;
  walk.files.set(path, known);
  return true;
}

async function scanFile(
  walk: Walk,
  { at, path }: Pick<FilePlace, "at" | "path">,
  found: Stats | undefined = statsOf(walk, at, path),
): Promise<void> {
  if (!found || found.isDirectory()) return;
  const known = walk.before.files.get(path);
  if (known?.settled && isSameStamp(known.stamp, found)) return void walk.files.set(path, known);
  const unsettledMs = found.ctimeMs % 1_000 === 0 ? settledAfterSecondsMs : settledAfterMs;
  const settled = Date.now() - found.ctimeMs > unsettledMs;
  const isBeyond = walk.files.size >= walk.maximumFiles;
  const looked = isBeyond
    ? { leftOut: `exceeds the limit of ${walk.maximumFiles} stored files` }
    : await lookAt(walk, { at, path });
  if (looked) walk.files.set(path, { stamp: stampOf(found), settled, ...looked });
}

/** Returns `undefined` if the entry disappeared or cannot be reached. Hides an entry that cannot be reached. */
function statsOf(walk: Walk, at: string, path: string): Stats | undefined {
  try {
    return lstatSync(at, { throwIfNoEntry: false });
  } catch {
    walk.hidden.set(path, { reason: unreadable });
    return undefined;
  }
}

function stampOf(found: Stats): FileStamp {
  const { size, mtimeMs, ctimeMs, mode } = found;
  return { size, mtimeMs, ctimeMs, mode, ...identityOf(found) };
}

/** Returns `undefined` if the entry disappeared or became a directory. */
async function lookAt(
  { maximumFileBytes, onContent }: Walk,
  { at, path }: Pick<FilePlace, "at" | "path">,
): Promise<Pick<ScannedFile, "state" | "leftOut"> | undefined> {
  const found = readIfPossible(at, path, maximumFileBytes);
  if (found.kind === "missing" || isDirectory(found)) return undefined;
  if (found.kind === "other") return { leftOut: found.reason };
  const { state } = found;
  if (found.kind === "link") return { state };
  await onContent(found.state.hash, found.content);
  return withoutUndefined({ state, leftOut: found.leftOut });
}

function readIfPossible(at: string, path: string, maximumFileBytes: number): FoundFile {
  try {
    return readFile({ at, path }, maximumFileBytes);
  } catch {
    return { kind: "other", reason: unreadable };
  }
}

type KnownFile = readonly [path: string, file: ScannedFile];

/** The files of the previous scan, which the next scan mostly finds in the same order. */
export class KnownFiles {
  readonly #files: ReadonlyMap<string, ScannedFile>;
  readonly #inOrder: Iterator<[string, ScannedFile]>;
  #next: KnownFile | undefined;

  constructor(files: ReadonlyMap<string, ScannedFile>) {
    this.#files = files;
    this.#inOrder = files.entries();
    this.#advance();
  }

  /** @param folder the part of the path before the name */
  find(folder: string, name: string): KnownFile | undefined {
    const next = this.#next;
    if (next && isAt(next[0], folder, name)) {
      this.#advance();
      return next;
    }
    const path = folder + name;
    const file = this.#files.get(path);
    if (!file) return undefined;
    while (this.#next && this.#next[0] !== path) this.#advance();
    this.#advance();
    return [path, file];
  }

  #advance(): void {
    const { done, value } = this.#inOrder.next();
    this.#next = done ? undefined : value;
  }
}

function isAt(path: string, folder: string, name: string): boolean {
  return path.length === folder.length + name.length && path.endsWith(name) && path.startsWith(folder);
}
