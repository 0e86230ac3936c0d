import { isAbsolute, relative, resolve, sep } from "node:path";
import type { FileState } from "../../checkpoint/data/FileChange.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { ChangedFile, Comparison, ComparisonRequest } from "../../journal/RollbackParticipant.ts";
import { fileNoteOf, unknownIn } from "../files/FileNote.ts";
import { type FoundFile, stateOf } from "../files/readFile.ts";
import { isMissingFile, type WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { fileHistories, type FileHistory, leftStates } from "./FileHistory.ts";

/** Returns whether a file has a content that the agent may have left. Permissions are ignored. */
export function isAsLeft(history: FileHistory, found: FoundFile): boolean {
  if (found.kind === "other") return false;
  const hash = hashOf(stateOf(found));
  return leftStates(history).some((left) => hashOf(left) === hash);
}

/** Compares the agent's files with the current files. @throws UnreadableValueError, PathNotAllowedError */
export async function compareFiles(files: WorkspaceFiles, request: ComparisonRequest): Promise<Comparison> {
  const { notes, workingDirectory, compared } = request;
  const from = workingDirectory ?? files.root;
  const done = new Set(compared.map((path) => resolve(from, path)));
  const unknown = unknownIn(notes.map(({ value }) => fileNoteOf(value)));
  const notCompared = unknown.map(({ path, reason }) => `${path} ${reason}`);
  const changed: ChangedFile[] = [];
  for (const file of fileHistories(notes)) {
    const at = resolve(files.root, file.path);
    if (done.has(at)) continue;
    const found = await readOrReason(files, file.path);
    if (typeof found === "string") notCompared.push(found);
    else if (!isAsLeft(file, found)) changed.push(changedFile(shownPath(at, workingDirectory), file, found));
  }
  return { changed, ...(notCompared.length > 0 && { notCompared }) };
}

/** Returns the entry at a path, or the reason why it cannot be read. If the root is missing, every file is missing. */
async function readOrReason(files: WorkspaceFiles, path: string): Promise<FoundFile | string> {
  try {
    return await files.read(path);
  } catch (error) {
    if (!AgentPersistenceError.isInstance(error)) throw error;
    return isMissingFile(error.cause) ? { kind: "missing" } : error.message;
  }
}

function changedFile(path: string, { spans }: FileHistory, found: FoundFile): ChangedFile {
  const there = found.kind === "other" ? "unreadable" : hashOf(stateOf(found));
  return withoutUndefined({ path, expected: hashOf(spans.at(-1)?.after), found: there });
}

function hashOf(state: FileState | undefined): string | undefined {
  if (state === undefined || state.kind === "file") return state?.hash;
  return nodeSha256.hex(new TextEncoder().encode(state.target));
}

function shownPath(at: string, workingDirectory: string | undefined): string {
  if (workingDirectory === undefined) return at;
  const path = relative(workingDirectory, at);
  return path.startsWith("..") || isAbsolute(path) ? at : path.split(sep).join("/");
}
