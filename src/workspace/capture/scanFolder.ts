import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  type Stats,
} from "node:fs";
import { FileAccessError } from "../../errors/workspace/FileAccessError.ts";
import { PathNotAllowedError } from "../../errors/workspace/PathNotAllowedError.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { systemReason } from "../files/ConfinedFolder.ts";
import { relativePath } from "../files/relativePath.ts";
import { isUnfinished } from "../files/replaceFile.ts";
import type { IgnoreRules } from "./IgnoreRules.ts";
import { type FileStamp, type HiddenEntry, hiddenAt, isSameStamp, type Scan, type ScannedFile } from "./Scan.ts";

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
/** Beyond this depth each path is checked. */
const ordinaryDepth = 50;
/** Never looked at, and not reported. */
const ownNames: ReadonlySet<string> = new Set([".git", ".agent-persistence"]);
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Scans a folder, and reads each file that changed since the scan `before`. Follows no link. A file that was scanned before
 * is scanned again even where a rule ignores it now. @throws FileAccessError when the folder itself cannot be read.
 */
export async function scanFolder(options: ScanOptions, before: Scan): Promise<Scan> {
  const walk: Walk = { ...options, before, files: new Map(), folders: new Map(), hidden: new Map() };
  await scanInto(walk, "", options.rules, 0);
  for (const path of before.files.keys())
    if (!walk.files.has(path) && isIgnored(hiddenAt(walk, path)?.[1])) await scanFile(walk, path);
  return walk;
}

interface Walk extends ScanOptions {
  readonly before: Scan;
  readonly files: Map<string, ScannedFile>;
  readonly folders: Map<string, number>;
  readonly hidden: Map<string, HiddenEntry>;
}

async function scanInto(walk: Walk, folder: string, outer: IgnoreRules, depth: number): Promise<void> {
  const entries = entriesOf(walk, folder);
  const gitignore = entries.find((entry) => entry.name === ".gitignore" && entry.isFile());
  const rules = gitignore ? outer.within(folder, readText(`${walk.root}/${folder}/.gitignore`)) : outer;
  for (const entry of entries) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (ownNames.has(entry.name) || isUnfinished(entry.name)) continue;
    const isFolder = entry.isDirectory();
    const reason = refusalOf(entry.name, path, depth);
    if (reason !== undefined) hide(walk, folder, entry.name, reason);
    else if (rules.ignores(path, isFolder)) hideIgnored(walk, path, isFolder);
    else if (isFolder) await scanSubfolder(walk, path, rules, depth + 1);
    else await scanFile(walk, path);
  }
}

async function scanSubfolder(walk: Walk, path: string, rules: IgnoreRules, depth: number): Promise<void> {
  const found = lstatSync(`${walk.root}/${path}`, { throwIfNoEntry: false });
  if (!found?.isDirectory()) return;
  walk.folders.set(path, found.mode & 0o777);
  await scanInto(walk, path, rules, depth);
}

/** Why no tool can reach a file of this name; `undefined`: it can be reached. */
function refusalOf(name: string, path: string, depth: number): string | undefined {
  if (ordinaryName.test(name) && depth < ordinaryDepth) return undefined;
  if (name.includes("\uFFFD")) return "has a name that is not UTF-8";
  try {
    return relativePath(path) === path ? undefined : "has a name that is not kept";
  } catch (error) {
    return `cannot be kept: ${error instanceof PathNotAllowedError ? error.reason : "its name is not allowed"}`;
  }
}

function hide(walk: Walk, folder: string, name: string, reason: string): void {
  const at = `${walk.root}/${folder}`;
  for (const [shown, stamp] of stampsOf(at, name))
    walk.hidden.set(folder === "" ? shown : `${folder}/${shown}`, { reason, stamp });
}

/** The stamps of all entries that Node shows by this name: bytes that are not UTF-8 all look the same. */
function stampsOf(folder: string, name: string): readonly (readonly [shown: string, stamp: FileStamp])[] {
  const names = name.includes("\uFFFD")
    ? readdirSync(folder, { encoding: "buffer" }).filter((bytes) => bytes.toString() === name)
    : [Buffer.from(name)];
  return names.flatMap((bytes) => {
    const found = lstatSync(Buffer.concat([Buffer.from(`${folder}/`), bytes]), { throwIfNoEntry: false });
    const shown = names.length === 1 ? name : `${name} (${bytes.toString("hex")})`;
    return found ? [[shown, stampOf(found)] as const] : [];
  });
}

/** An ignored file that changed is not reported, but one that stops being ignored was there before. */
function hideIgnored(walk: Walk, path: string, isFolder: boolean): void {
  const found = isFolder ? undefined : lstatSync(`${walk.root}/${path}`, { throwIfNoEntry: false });
  walk.hidden.set(path, found ? { stamp: stampOf(found) } : {});
}

function isIgnored(entry: HiddenEntry | undefined): boolean {
  return entry !== undefined && entry.reason === undefined;
}

async function scanFile(walk: Walk, path: string): Promise<void> {
  if (walk.files.size % filesPerTurn === filesPerTurn - 1) await nextTurn();
  const at = `${walk.root}/${path}`;
  const found = lstatSync(at, { throwIfNoEntry: false });
  if (!found || found.isDirectory()) return;
  const known = walk.before.files.get(path);
  if (known?.settled && isSameStamp(known.stamp, found)) return void walk.files.set(path, known);
  const settled = Date.now() - found.ctimeMs > settledAfterMs;
  const isBeyond = walk.files.size >= walk.maximumFiles;
  const looked = isBeyond
    ? { leftOut: `is beyond the ${walk.maximumFiles} files that are kept` }
    : await lookAt(walk, at, found);
  walk.files.set(path, { stamp: stampOf(found), settled, ...looked });
}

function stampOf({ size, mtimeMs, ctimeMs, ino, mode }: Stats): FileStamp {
  return { size, mtimeMs, ctimeMs, ino, mode };
}

async function lookAt(
  { maximumFileBytes, onContent }: Walk,
  at: string,
  found: Stats,
): Promise<Pick<ScannedFile, "state" | "leftOut">> {
  if (found.isSymbolicLink()) return linkAt(at);
  if (!found.isFile()) return { leftOut: "is neither a file nor a link" };
  if (found.size > maximumFileBytes)
    return { leftOut: `has ${found.size} bytes, and the workspace keeps files of at most ${maximumFileBytes}` };
  const read = readWhole(at);
  if (!read) return { leftOut: "could not be read" };
  const hash = nodeSha256.hex(read.content);
  await onContent(hash, read.content);
  const state = { kind: "file", hash, bytes: read.content.length, mode: read.mode & 0o777 } as const;
  return (read.mode & 0o7000) === 0
    ? { state }
    : { state, leftOut: "has a setuid, setgid or sticky bit, which is not kept" };
}

function linkAt(at: string): Pick<ScannedFile, "state" | "leftOut"> {
  const bytes = readlinkSync(at, { encoding: "buffer" });
  const target = bytes.toString();
  if (!Buffer.from(target).equals(bytes)) return { leftOut: "is a link whose target is not UTF-8" };
  return { state: { kind: "link", target } };
}

function readWhole(at: string): { readonly content: Uint8Array; readonly mode: number } | undefined {
  try {
    const descriptor = openSync(at, flags);
    try {
      return { content: readFileSync(descriptor), mode: fstatSync(descriptor).mode & 0o7777 };
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return undefined;
  }
}

function entriesOf({ root, hidden }: Walk, folder: string) {
  try {
    return readdirSync(`${root}/${folder}`, { withFileTypes: true });
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    // Removed or replaced since its folder was listed.
    if (folder !== "" && ["ENOENT", "ENOTDIR"].includes(code)) return [];
    if (folder === "") throw new FileAccessError(".", systemReason(error), { cause: error });
    hidden.set(folder, { reason: "could not be read" });
    return [];
  }
}

function readText(path: string): string {
  return new TextDecoder().decode(readWhole(path)?.content);
}
