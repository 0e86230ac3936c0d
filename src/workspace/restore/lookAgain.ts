import { isSameFile } from "../../checkpoint/data/FileChange.ts";
import { type ConflictingFile, FileConflictError } from "../../errors/workspaceErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { StepRequest } from "../../journal/RollbackParticipant.ts";
import { type FoundFile, isDirectory, stateOf, withoutContent } from "../files/readFile.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { conflictAt, type FileConflict, type FileResolution, fileResolutions } from "./FileConflict.ts";
import { type FilePart, type PartOutcome, plannedChange, type RestorePart } from "./RestoreStep.ts";
import { foldersAbove } from "../files/relativePath.ts";

export interface Restoring {
  readonly files: WorkspaceFiles;
  readonly request: StepRequest;
  /** Requests a decision about a file that changed since the plan. `undefined` if no handler decides. */
  readonly ask: (conflict: FileConflict) => Promise<FileResolution | undefined>;
  readonly outcome: Map<string, PartOutcome>;
  /** Receives the files that could not be replaced, with the reason. */
  readonly refused: Map<string, string>;
}

/**
 * Reads every file again before the first write, and requests decisions about changes.
 *
 * @returns the files to write or remove, with their current states
 * @throws FileConflictError without a decision. No file has changed.
 */
export async function lookAgain(parts: readonly RestorePart[], restoring: Restoring): Promise<readonly FilePart[]> {
  const { files, request } = restoring;
  const wanted = parts.filter((part) => part.kind === "file");
  const found = await currentEntries(wanted, await openedFolders(files, parts), restoring);
  const removed = new Set(wanted.filter(({ after }) => !after).map(({ path }) => path));
  const folders = parts.filter(({ kind }) => kind === "folder").map(({ path }) => path);
  const obstacles = new Obstacles(files, removed, new Set(folders));
  const todo: FilePart[] = [];
  const open: ConflictingFile[] = [];
  // Decides about removals first, because a skipped removal may block another file.
  for (const [part, seen] of found.toSorted(([a], [b]) => Number(!!a.after) - Number(!!b.after))) {
    const now = (await obstacles.include(part.path, seen)) ? ({ kind: "missing" } as const) : seen;
    if (isThere(now, part.after) || (isDirectory(now) && !part.after)) continue;
    const decided =
      isThere(now, part.before) && now.unreachable === undefined ? part : await decide(part, now, restoring);
    if ("kind" in decided) todo.push(decided);
    else removed.delete(part.path);
    if ("refused" in decided && decided.refused) open.push(decided.refused);
  }
  if (open.length > 0) throw new FileConflictError(request.agentId, request.checkpointId, open);
  return todo;
}

/** Returns each part with the current entry at its path. */
async function currentEntries(
  wanted: readonly FilePart[],
  opened: ReadonlySet<string>,
  { files, refused }: Restoring,
): Promise<readonly (readonly [FilePart, FoundFile])[]> {
  const found = new Map<string, FoundFile>();
  const byPath = new Map(wanted.map((part) => [part.path, part]));
  await files.lookAtAll(byPath.keys(), (path, entry) => {
    const part = byPath.get(path);
    if (!part) return;
    const seen = asOpened(entry, opened);
    const unreachable = refused.get(path) ?? seen.unreachable;
    const isKnown = unreachable === undefined && (isThere(seen, part.before) || isThere(seen, part.after));
    found.set(path, isKnown ? withoutContent(seen) : withoutUndefined({ ...seen, unreachable }));
  });
  return [...byPath].map(([path, part]) => [part, found.get(path) ?? { kind: "missing" }] as const);
}

function isThere(found: FoundFile, state: FilePart["before"]): boolean {
  return found.kind !== "other" && isSameFile(stateOf(found), state);
}

/** @returns the part with the replaced state, or the conflict that needs a decision, or `undefined` to keep the file */
async function decide(
  part: FilePart,
  found: FoundFile,
  { ask, outcome, request }: Restoring,
): Promise<FilePart | { readonly refused?: ConflictingFile }> {
  const conflict = conflictAt(part.path, found);
  const answer = await ask(conflict);
  if (answer === "skip" || answer === "use_current") {
    outcome.set(part.path, { change: answer });
    return {};
  }
  const refused = refusalOf(conflict, answer);
  if (refused === undefined) return replacing(part, found, answer, { request, outcome });
  if (request.onFailure === "stop") return { refused };
  outcome.set(part.path, { change: "not applied: it was changed or cannot be reached" });
  return {};
}

/** Stores the content of others before it is replaced. */
async function replacing(
  part: FilePart,
  found: FoundFile,
  settled: FileResolution | undefined,
  { request, outcome }: Pick<Restoring, "request" | "outcome">,
): Promise<FilePart> {
  const kept = found.kind === "file" ? found.state.hash : undefined;
  if (found.kind === "file") await request.keep(new Map([[found.state.hash, found.content]]));
  const { path, after } = part;
  const replaced = withoutUndefined({ kind: "file", path, before: stateOf(found), after, settled } as const);
  outcome.set(path, withoutUndefined({ change: plannedChange(replaced), replaced: kept }));
  return replaced;
}

/** Returns why a file cannot be replaced, or `undefined`. A file that changed since the plan is not merged. */
function refusalOf(conflict: FileConflict, answer: FileResolution | undefined): ConflictingFile | undefined {
  const replaces = answer === "use_checkpoint" || answer === "restore";
  const isValid = replaces && fileResolutions[conflict.kind].includes(answer);
  return isValid ? undefined : conflictingFile(conflict, undefined);
}

export function conflictingFile(conflict: FileConflict, refused: string | undefined): ConflictingFile {
  return withoutUndefined({ ...conflict, options: fileResolutions[conflict.kind], refused });
}

/** Entries that block the path of a restored file and are removed by the same restore. */
export class Obstacles {
  /** @param removed the files and links to remove @param folders the directories that the agent created */
  constructor(
    readonly files: WorkspaceFiles,
    readonly removed: ReadonlySet<string>,
    readonly folders: ReadonlySet<string>,
  ) {}

  /** Returns whether the obstacle at a path or above it is removed before a file is written there. */
  async include(path: string, found: FoundFile): Promise<boolean> {
    if (found.unreachable !== undefined) return foldersAbove(path).some((above) => this.removed.has(above));
    if (found.kind !== "other" || !found.folder || !this.folders.has(path)) return false;
    const below = await this.files.below(path);
    return below.every((name) => this.removed.has(name) || this.folders.has(name));
  }
}

/** Returns the entry in its state after these directories were made writable. */
export function asOpened(found: FoundFile, opened: ReadonlySet<string>): FoundFile {
  if (found.shut === undefined || !opened.has(found.shut)) return found;
  const { unreachable: _reason, shut: _folder, ...rest } = found;
  return rest;
}

/** Returns the directories that the agent left without write permission. A restore makes them writable first. */
export async function openedFolders(
  files: WorkspaceFiles,
  parts: readonly RestorePart[],
): Promise<ReadonlySet<string>> {
  const opened = new Set<string>();
  for (const part of parts) {
    const left = leftMode(part);
    if (left === undefined || (left & 0o300) === 0o300) continue;
    if ((await files.folderMode(part.path).catch(() => undefined)) === left) opened.add(part.path);
  }
  return opened;
}

/** Returns the permissions that the agent left on a directory. `undefined` for other parts or if they do not matter. */
export function leftMode(part: RestorePart): number | undefined {
  if (part.kind === "folder") return part.mode;
  return part.kind === "folder_mode" ? part.after : undefined;
}
