import { z } from "zod";
import type { FileState } from "../../checkpoint/data/FileChange.ts";
import { isFileState } from "../../checkpoint/data/FileChange.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { isFolderMode } from "../files/FileNote.ts";
import { relativePath } from "../files/relativePath.ts";
import type { FileStamp, HiddenEntry, Scan, ScannedFile, ScannedFolder } from "./Scan.ts";
import type { ScanLine } from "./StoredScan.ts";

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

/** Replaces a stamp that is not stored. It equals no stamp, including itself. */
const unknownStamp: FileStamp = {
  size: NaN,
  mtimeMs: NaN,
  ctimeMs: NaN,
  mode: NaN,
  ino: NaN,
  birthtimeMs: NaN,
  nlink: NaN,
};

/**
 * Reads a stored scan. Its files have no stamps, so the next scan reads every file again.
 *
 * @param hashes the result of `StoredScan.add`
 * @param content reads a content by its hash
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
  const folders = new Map<string, ScannedFolder>();
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
