import type { FileState } from "../../checkpoint/data/FileChange.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { StorageError } from "../../errors/storageErrors.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import type { StepRequest } from "../../journal/RollbackParticipant.ts";
import { inPhases, type Phases } from "../files/inPhases.ts";
import type { FoundFile } from "../files/readFile.ts";
import { isRefused, refusalIn } from "../files/WorkspaceFiles.ts";
import { inGroups } from "../git/blobs.ts";
import { type Restoring, conflictingFile, lookAgain, leftMode } from "./lookAgain.ts";
import type { FilePart, FolderModePart, FolderPart, RestorePart } from "./RestoreStep.ts";
import { FileConflictError } from "../../errors/workspaceErrors.ts";
import { conflictAt } from "./FileConflict.ts";

/** How many attempts may fail because people edit files meanwhile, before the restore is refused. */
const attempts = 3;

/** Thrown if others changed a file between its last check and its replacement. The file was not replaced. */
export class ChangedMeanwhile extends Error {
  constructor(
    readonly path: string,
    readonly found: FoundFile,
  ) {
    super(`${path} changed meanwhile`);
  }
}

/** The completed actions that may have to be undone. */
type Done =
  | FilePart
  | { readonly kind: "folder_made"; readonly path: string }
  | { readonly kind: "folder_removed" | "folder_set"; readonly path: string; readonly mode: number };

/** Writes the files of a restore, and can undo the writes. */
export class RestoreWriter {
  readonly #restoring: Restoring;
  readonly #done: Done[] = [];

  constructor(restoring: Restoring) {
    this.#restoring = restoring;
  }

  /** Removes files, restores directories, then writes files, which can replace a directory. */
  async write(todo: readonly FilePart[], parts: readonly RestorePart[]): Promise<void> {
    const { files } = this.#restoring;
    const folders = parts.filter(isFolder).toSorted((a, b) => (a.path < b.path ? -1 : 1));
    for (const part of folders) if (!isPlain(part) && !isRemoved(part)) await this.#openFolder(part);
    // Includes files without a pending change, because an interrupted attempt may have completed them.
    await files.removeUnfinished(
      parts.filter(({ kind }) => kind === "file" || kind === "kept").map(({ path }) => path),
    );
    await this.#replaceAll(todo.filter(({ after }) => !after));
    for (const { kind, path } of folders.toReversed()) if (kind === "folder") await this.#removeFolder(path);
    for (const part of folders) if (isRemoved(part)) await this.#openFolder(part);
    await this.#replaceAll(todo.filter(({ after }) => after));
    // Syncs before the permissions are restored, because the restored permissions may prevent reading the directory.
    await this.#sync();
    for (const part of folders.toReversed()) if (!isPlain(part)) await this.#closeFolder(part);
  }

  /** Undoes the writes, newest first. Leaves files that others have changed since. */
  async undo(): Promise<void> {
    const failures: unknown[] = [];
    for (const done of this.#done.toReversed())
      await this.#takeBack(done).catch((error: unknown) => failures.push(error));
    await this.#sync();
    if (failures.length > 0) throw failures[0];
  }

  async #takeBack(done: Done): Promise<void> {
    const { files, request } = this.#restoring;
    const { path } = done;
    if (done.kind === "folder_made") await files.removeEmptyFolder(path);
    else if (done.kind !== "file") await files.setFolder(path, done.mode);
    else {
      const { before: state, after: expected } = done;
      await files.replace(path, { expected, state, content: await contentFor(state, request) });
    }
  }

  #sync(): Promise<void> {
    return this.#restoring.files.sync(this.#done.map(({ path }) => path));
  }

  async #replaceAll(parts: readonly FilePart[]): Promise<void> {
    for (const group of inGroups(parts, bytesAfter))
      await inPhases(group, (part, phases) => this.#orLeave(part.path, () => this.#replace(part, phases)));
  }

  async #replace(part: FilePart, phases: Phases): Promise<void> {
    const { files, request } = this.#restoring;
    const { path, before: expected, after: state } = part;
    const content = await contentFor(state, request);
    request.abortSignal.throwIfAborted();
    const made = (folder: string) => void this.#done.push({ kind: "folder_made", path: folder });
    const found = await files.replace(path, { expected, state, content, phases, made }).catch((error: unknown) => {
      if (isRefused(error)) this.#restoring.refused.set(path, refusalIn(error));
      throw error;
    });
    if (found) throw new ChangedMeanwhile(path, found);
    this.#done.push(part);
  }

  #removeFolder(path: string): Promise<void> {
    return this.#ofFolder(path, async () => {
      const { files, outcome } = this.#restoring;
      const mode = await files.removeEmptyFolder(path);
      if (mode !== undefined) this.#done.push({ kind: "folder_removed", path, mode });
      else if ((await files.folderMode(path)) !== undefined) outcome.set(path, { change: "kept: it is not empty" });
    });
  }

  /** Creates a removed directory and makes it writable, unless others changed it. */
  #openFolder(part: FolderOfRestore): Promise<void> {
    const { path } = part;
    return this.#ofFolder(path, async () => {
      const { files, outcome } = this.#restoring;
      const mode = await files.folderMode(path);
      const isRestored = part.kind === "folder_mode" && mode === part.before;
      if (isRestored || outcome.has(path)) return;
      if (mode !== leftMode(part) && !isHalfOpened(part, mode)) return this.#leaveFolder(part);
      const left = leftMode(part);
      let at = this.#done.length;
      this.#done.push(left === undefined ? { kind: "folder_made", path } : { kind: "folder_set", path, mode: left });
      const made = (folder: string) => void this.#done.splice(at++, 0, { kind: "folder_made", path: folder });
      await files.setFolder(path, finalMode(part) | 0o700, made);
    });
  }

  #leaveFolder({ kind, path }: FolderOfRestore): void {
    if (kind === "folder_mode")
      this.#restoring.outcome.set(path, { change: "not restored: others changed its permissions" });
  }

  #closeFolder(part: FolderOfRestore): Promise<void> {
    const { path } = part;
    return this.#ofFolder(path, async () => {
      const { files, outcome } = this.#restoring;
      if (outcome.has(path)) return;
      const mode = await files.folderMode(path);
      const isOpen = part.kind === "folder_mode" || mode === (finalMode(part) | 0o700);
      if (!isOpen || mode === finalMode(part)) return;
      this.#done.push({ kind: "folder_set", path, mode: finalMode(part) | 0o700 });
      await files.setFolder(path, finalMode(part));
    });
  }

  /** Reports a directory that cannot be changed, without a decision and without stopping the restore. */
  async #ofFolder(path: string, action: () => Promise<void>): Promise<void> {
    const { length } = this.#done;
    try {
      await action();
    } catch (error) {
      if (!isRefused(error)) return this.#orLeave(path, () => Promise.reject(error));
      // The directory is unchanged and needs no undo.
      this.#done.length = length;
      this.#restoring.outcome.set(path, { change: `not restored: it ${refusalIn(error)}` });
    }
  }

  async #orLeave(path: string, action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      const { request, outcome } = this.#restoring;
      if (request.onFailure === "stop" || request.abortSignal.aborted || !isOfFile(error)) throw error;
      outcome.set(path, { change: `not applied: ${reasonOf(error)}` });
    }
  }
}

/** Returns whether an error is about one file. A failure of the storage concerns the whole restore. */
function isOfFile(error: unknown): boolean {
  if (error instanceof ChangedMeanwhile) return true;
  return AgentPersistenceError.isInstance(error) && !(error instanceof StorageError);
}

function bytesAfter({ after }: FilePart): number {
  return after?.kind === "file" ? after.bytes : 0;
}

type FolderOfRestore = FolderPart | FolderModePart;

function isFolder(part: RestorePart): part is FolderOfRestore {
  return part.kind === "folder" || part.kind === "folder_mode";
}

/** Returns whether the agent created the directory and its permissions do not matter. */
function isPlain(part: FolderOfRestore): boolean {
  return part.kind === "folder" && part.mode === undefined;
}

function isRemoved(part: FolderOfRestore): boolean {
  return part.kind === "folder_mode" && part.after === undefined;
}

/** Returns the permissions of a directory after the restore, unless it is removed. */
function finalMode(part: FolderOfRestore): number {
  return part.kind === "folder" ? (part.mode ?? 0) : part.before;
}

/** Returns whether a directory is in the state that an interrupted restore left. */
function isHalfOpened(part: FolderOfRestore, mode: number | undefined): boolean {
  const open = finalMode(part) | 0o700;
  return mode === open || (isRemoved(part) && mode === (open & 0o777 & ~process.umask()));
}

async function contentFor(state: FileState | undefined, { content }: StepRequest): Promise<Uint8Array | undefined> {
  if (state?.kind !== "file") return undefined;
  const bytes = await content(state.hash);
  if (!bytes) throw new UnreadableValueError(`the content ${state.hash} of a file is not in the log`);
  return bytes;
}

/**
 * Executes a restore: reads all files, requests decisions, then writes. If a file changes meanwhile, undoes the writes
 * and starts again.
 *
 * @throws FileConflictError after all files got their former states back
 */
export async function carryOutRestore(parts: readonly RestorePart[], restoring: Restoring): Promise<void> {
  for (let changes = 0; ;) {
    const todo = await lookAgain(parts, restoring);
    const writer = new RestoreWriter(restoring);
    const { size } = restoring.refused;
    try {
      return await writer.write(todo, parts);
    } catch (error) {
      await writer.undo();
      // The next attempt requests a decision about a file that cannot be replaced.
      if (restoring.refused.size > size) continue;
      if (!(error instanceof ChangedMeanwhile)) throw error;
      if (++changes === attempts) throw refusal(error, restoring);
    }
  }
}

function refusal({ path, found }: ChangedMeanwhile, { request }: Restoring): FileConflictError {
  const conflict = conflictingFile(conflictAt(path, found), "others keep changing it");
  return new FileConflictError(request.agentId, request.checkpointId, [conflict]);
}
