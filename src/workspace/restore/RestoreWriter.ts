import type { FileState } from "../../checkpoint/data/FileChange.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import { forEachAtOnce } from "../../internal/forEachAtOnce.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import type { StepRequest } from "../../journal/RollbackParticipant.ts";
import type { FoundFile } from "../files/readFile.ts";
import { filesAtOnce } from "../files/WorkspaceFiles.ts";
import type { Restoring } from "./lookAgain.ts";
import type { FilePart, FolderModePart, RestorePart } from "./RestoreStep.ts";

/** A file changed between the look at it and its replacement. Nothing was changed there. */
export class ChangedMeanwhile extends Error {
  constructor(
    readonly path: string,
    readonly found: FoundFile,
  ) {
    super(`${path} changed meanwhile`);
  }
}

/** What the writer did, as far as it has to be taken back. */
type Done =
  | FilePart
  | { readonly kind: "folder_made"; readonly path: string }
  | { readonly kind: "folder_removed" | "folder_set"; readonly path: string; readonly mode: number };

/** Writes the files of a restore, and takes back what it wrote when it cannot go on. */
export class RestoreWriter {
  readonly #restoring: Restoring;
  readonly #done: Done[] = [];

  constructor(restoring: Restoring) {
    this.#restoring = restoring;
  }

  /** Removals, then folders, then writes, so that a file can replace a folder. @param todo the files, as `lookAgain` gives them. */
  async write(todo: readonly FilePart[], parts: readonly RestorePart[]): Promise<void> {
    const { files } = this.#restoring;
    // An attempt that was interrupted may have written files that are as they should be by now.
    await files.removeUnfinished(
      parts.filter(({ kind }) => kind === "file" || kind === "kept").map(({ path }) => path),
    );
    const modes = parts.filter((part) => part.kind === "folder_mode");
    const outermostFirst = modes.toSorted((a, b) => (a.path < b.path ? -1 : 1));
    await this.#replaceAll(todo.filter(({ after }) => !after));
    for (const { path } of parts.filter(({ kind }) => kind === "folder")) await this.#removeFolder(path);
    for (const part of outermostFirst) await this.#openFolder(part);
    await this.#replaceAll(todo.filter(({ after }) => after));
    for (const part of outermostFirst.toReversed()) await this.#closeFolder(part);
    await this.#sync();
  }

  /** Takes back what was written, the newest first, as far as nobody else changed it since. */
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

  #replaceAll(parts: readonly FilePart[]): Promise<void> {
    return forEachAtOnce(parts, filesAtOnce, (part) => this.#orLeave(part.path, () => this.#replace(part)));
  }

  async #replace(part: FilePart): Promise<void> {
    const { files, request } = this.#restoring;
    const { path, before: expected, after: state } = part;
    const content = await contentFor(state, request);
    request.abortSignal.throwIfAborted();
    const made = (folder: string) => void this.#done.push({ kind: "folder_made", path: folder });
    const found = await files.replace(path, { expected, state, content, made });
    if (found) throw new ChangedMeanwhile(path, found);
    this.#done.push(part);
  }

  #removeFolder(path: string): Promise<void> {
    return this.#orLeave(path, async () => {
      const mode = await this.#restoring.files.removeEmptyFolder(path);
      if (mode !== undefined) this.#done.push({ kind: "folder_removed", path, mode });
    });
  }

  /** Makes a folder that was removed, and makes sure that files can be written in it. */
  #openFolder(part: FolderModePart): Promise<void> {
    const { path, before, after } = part;
    return this.#orLeave(path, async () => {
      const { files, outcome } = this.#restoring;
      const mode = await files.folderMode(path);
      if (mode === before || outcome.has(path)) return;
      if (mode !== after && !isHalfOpened(part, mode))
        return void outcome.set(path, { change: "not restored: others changed its permissions" });
      this.#done.push(after === undefined ? { kind: "folder_made", path } : { kind: "folder_set", path, mode: after });
      await files.setFolder(path, before | 0o700);
    });
  }

  #closeFolder({ path, before }: FolderModePart): Promise<void> {
    return this.#orLeave(path, async () => {
      const { files, outcome } = this.#restoring;
      if (outcome.has(path) || (await files.folderMode(path)) === before) return;
      this.#done.push({ kind: "folder_set", path, mode: before | 0o700 });
      await files.setFolder(path, before);
    });
  }

  async #orLeave(path: string, action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      const { request, outcome } = this.#restoring;
      const isOfFile = error instanceof ChangedMeanwhile || AgentPersistenceError.isInstance(error);
      if (request.onFailure === "stop" || !isOfFile) throw error;
      outcome.set(path, { change: `not applied: ${reasonOf(error)}` });
    }
  }
}

/** Whether a folder is as a restore that was interrupted left it. */
function isHalfOpened({ before, after }: FolderModePart, mode: number | undefined): boolean {
  const open = before | 0o700;
  return mode === open || (after === undefined && mode === (open & 0o777 & ~process.umask()));
}

async function contentFor(state: FileState | undefined, { content }: StepRequest): Promise<Uint8Array | undefined> {
  if (state?.kind !== "file") return undefined;
  const bytes = await content(state.hash);
  if (!bytes) throw new UnreadableValueError(`the content ${state.hash} of a file is not in the log`);
  return bytes;
}
