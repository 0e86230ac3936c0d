import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import {
  emptyScan,
  type FileStamp,
  type HiddenEntry,
  type Scan,
  type ScannedDirectory,
  type ScannedFile,
} from "./Scan.ts";
import { z } from "zod";
import { type FileState, isFileState } from "../../checkpoint/data/FileChange.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { isFolderMode } from "../files/FileNote.ts";
import { relativePath } from "../files/relativePath.ts";

const path = z.string().refine(isStoredPath);
const stamp = z.strictObject({
  size: z.number(),
  mtimeMs: z.number(),
  ctimeMs: z.number(),
  mode: z.number(),
  ino: z.number(),
  birthtimeMs: z.number(),
  nlink: z.number(),
});
const state = z.custom<FileState>(isFileState).nullable();
const lineSchema = z.union([
  z.tuple([z.literal("file"), path, state]),
  z.tuple([z.literal("file"), path, state, z.string(), stamp]),
  z.tuple([z.literal("folder"), path, z.custom<number>(isFolderMode)]),
  z.tuple([z.literal("hidden"), z.string(), z.string().nullable()]),
  z.tuple([z.literal("hidden"), z.string(), z.string(), stamp]),
  z.tuple([z.literal("gone"), z.string()]),
]);
const hashesSchema = z.array(z.string());
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Stands for a stamp that was not stored. The fields are `NaN`, so the stamp is unequal to every stamp. */
const unknownStamp: FileStamp = {
  size: NaN,
  mtimeMs: NaN,
  ctimeMs: NaN,
  mode: NaN,
  ino: NaN,
  birthtimeMs: NaN,
  nlink: NaN,
};

/** A line of a stored scan. A `gone` line removes the line with the same key from earlier layers. */
export type ScanLine =
  | readonly [kind: "file", path: string, state: ScannedFile["state"] | null, leftOut?: string, stamp?: FileStamp]
  | readonly [kind: "folder", path: string, mode: number]
  | readonly [kind: "hidden", path: string, reason: string | null, stamp?: FileStamp]
  | readonly [kind: "gone", key: string];

/** Contents to store, by their SHA-256 in hex. */
type Contents = Map<string, Uint8Array>;

/** The lines by key. `undefined` for a removed line. */
type Lines = ReadonlyMap<string, string | undefined>;

interface Layer {
  readonly hash: string;
  readonly lines: Lines;
}

const chunkLines = 64;
const encoder = new TextEncoder();

/**
 * Stores the scans of a run in its log, so that another process can read them after a crash. The first scan is stored
 * in chunks. Chunks end after fixed paths, so that a log with an earlier scan stores only the chunks that differ. Each
 * later scan adds a layer of changed lines. A new layer includes the smaller layers before it, so there are few layers,
 * and each line is rewritten only a few times.
 */
export class StoredScan {
  #last = emptyScan;
  #base: string | undefined;
  #layers: readonly Layer[] = [];

  /** Adds a scan. `contents` receives the contents to store. @returns the hashes that `readScan` needs */
  add(scan: Scan, contents: Contents): readonly string[] {
    const changed = changedLines(this.#last, scan);
    this.#last = scan;
    if (this.#base === undefined) this.#base = storeBase(changed, contents);
    else if (changed.size > 0) this.#addLayer(changed, contents);
    return [this.#base, ...this.#layers.map(({ hash }) => hash)];
  }

  #addLayer(changed: Lines, contents: Contents): void {
    let lines = changed;
    const layers = [...this.#layers];
    for (let last = layers.at(-1); last && last.lines.size < 2 * lines.size; last = layers.at(-1)) {
      lines = new Map([...last.lines, ...lines]);
      layers.pop();
    }
    const texts = [...lines].map(([key, line]) => line ?? textOf(["gone", key]));
    this.#layers = [...layers, { lines, hash: store(texts, contents) }];
  }
}

/** Returns the lines of a scan that differ from an earlier scan. Most entries are the same objects in both. */
function changedLines(before: Scan, after: Scan): Lines {
  const changed = new Map<string, string | undefined>();
  addChanged(changed, "file", { before: before.files, after: after.files, lineOf: fileLine });
  addChanged(changed, "folder", { before: before.folders, after: after.folders, lineOf: folderLine });
  addChanged(changed, "hidden", { before: before.hidden, after: after.hidden, lineOf: hiddenLine });
  return changed;
}

interface Compared<Entry> {
  readonly before: ReadonlyMap<string, Entry>;
  readonly after: ReadonlyMap<string, Entry>;
  readonly lineOf: (path: string, entry: Entry) => ScanLine;
}

function addChanged<Entry>(
  changed: Map<string, string | undefined>,
  kind: string,
  { before, after, lineOf }: Compared<Entry>,
): void {
  let kept = 0;
  for (const [path, entry] of after) {
    const known = before.get(path);
    if (known !== undefined) kept++;
    if (known === entry) continue;
    const line = textOf(lineOf(path, entry));
    if (known === undefined || textOf(lineOf(path, known)) !== line) changed.set(`${kind} ${path}`, line);
  }
  if (kept === before.size) return;
  for (const path of before.keys()) if (!after.has(path)) changed.set(`${kind} ${path}`, undefined);
}

function fileLine(path: string, file: ScannedFile): ScanLine {
  const { state: known, leftOut, stamp: seen } = file;
  return leftOut === undefined ? ["file", path, known ?? null] : ["file", path, known ?? null, leftOut, seen];
}

function folderLine(path: string, { mode }: ScannedDirectory): ScanLine {
  return ["folder", path, mode];
}

/** Returns the line of a file without stored content, with the stamp unless the file is ignored. */
function hiddenLine(path: string, { reason, stamp }: HiddenEntry): ScanLine {
  if (reason === undefined) return ["hidden", path, null];
  return stamp ? ["hidden", path, reason, stamp] : ["hidden", path, reason];
}

function storeBase(lines: Lines, contents: Contents): string {
  const hashes: string[] = [];
  let chunk: string[] = [];
  for (const key of [...lines.keys()].toSorted()) {
    chunk.push(lines.get(key) ?? "");
    if (!isChunkEnd(key)) continue;
    hashes.push(store(chunk, contents));
    chunk = [];
  }
  if (chunk.length > 0) hashes.push(store(chunk, contents));
  return store(
    hashes.map((hash) => JSON.stringify(hash)),
    contents,
  );
}

function isChunkEnd(key: string): boolean {
  let hash = 0;
  for (let at = 0; at < key.length; at++) hash = (Math.imul(hash, 31) + key.charCodeAt(at)) >>> 0;
  // The high bits depend on every character.
  return Math.imul(hash, 0x9e3779b1) >>> 0 < 2 ** 32 / chunkLines;
}

function store(texts: readonly string[], contents: Contents): string {
  const bytes = encoder.encode(`[${texts.join(",\n")}]`);
  const hash = nodeSha256.hex(bytes);
  contents.set(hash, bytes);
  return hash;
}

function textOf(line: ScanLine): string {
  return JSON.stringify(line);
}

/**
 * Reads the scan with the hashes of `StoredScan.add`. The files have no stamps, so the next scan reads every file
 * again.
 *
 * @returns `undefined` if a part is missing or invalid
 */
export async function readScan(
  [base, ...layers]: readonly string[],
  content: (hash: string) => Promise<Uint8Array | undefined>,
): Promise<Scan | undefined> {
  try {
    const chunks = hashesSchema.parse(await valueOf(base ?? "", content));
    const lines = new Map<string, ScanLine>();
    for (const hash of [...chunks, ...layers])
      for (const line of z.array(lineSchema).parse(await valueOf(hash, content))) addLine(lines, line as ScanLine);
    return scanOf(lines.values());
  } catch (error) {
    const isUnreadable =
      error instanceof z.ZodError || error instanceof SyntaxError || AgentPersistenceError.isInstance(error);
    // A decoder throws a TypeError for bytes that are not UTF-8.
    if (isUnreadable || error instanceof TypeError) return undefined;
    throw error;
  }
}

export function fileWithState(known: FileState): ScannedFile {
  return { state: known, stamp: unknownStamp, settled: false };
}

async function valueOf(hash: string, content: (hash: string) => Promise<Uint8Array | undefined>): Promise<unknown> {
  return JSON.parse(decoder.decode(await content(hash)));
}

function addLine(lines: Map<string, ScanLine>, line: ScanLine): void {
  if (line[0] === "gone") lines.delete(line[1]);
  else lines.set(`${line[0]} ${line[1]}`, line);
}

function scanOf(lines: Iterable<ScanLine>): Scan {
  const files = new Map<string, ScannedFile>();
  const folders = new Map<string, ScannedDirectory>();
  const hidden = new Map<string, HiddenEntry>();
  for (const line of lines) {
    const [kind, at, what, leftOut, seen = unknownStamp] = line;
    if (kind === "file")
      files.set(at, withoutUndefined({ state: what ?? undefined, stamp: seen, settled: false, leftOut }));
    else if (kind === "folder") folders.set(at, { ...unknownStamp, mode: what });
    else if (kind === "hidden") hidden.set(at, withoutUndefined({ reason: what ?? undefined, stamp: line[3] }));
  }
  return { began: 0, files, folders, hidden, gone: new Set() };
}

/** Validates a path, because logs are not trusted. */
function isStoredPath(text: string): boolean {
  try {
    return relativePath(text) === text;
  } catch {
    return false;
  }
}
