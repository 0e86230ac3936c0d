import { isAbsolute, relative, resolve, sep } from "node:path";
import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { fileNoteKey } from "../../checkpoint/data/FileChange.ts";
import { PathNotAllowedError } from "../../errors/workspace/PathNotAllowedError.ts";
import { RecoveryRefusedError } from "../../errors/checkpoint/RecoveryRefusedError.ts";
import type { ParticipantContext, ParticipantRequest } from "../../journal/RollbackParticipant.ts";
import type { EnvironmentMismatch } from "../../persistence/environment/EnvironmentMismatch.ts";
import type { RecoveryOption, RecoveryParticipant } from "../../persistence/environment/RecoveryParticipant.ts";
import type { ConflictResolver } from "../conflicts/ConflictResolver.ts";
import { fileNoteOf } from "../files/FileNote.ts";
import { relativePath } from "../files/relativePath.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import type { FileResolution } from "./FileConflict.ts";
import type { FileRestore } from "./FileRestore.ts";
import { fileHistories, type FileHistory } from "./planRestore.ts";
import { settleConflict } from "./settleConflict.ts";
import { fileToRecover, isOwnWork, optionsForFile, type FileToRecover } from "./fileToRecover.ts";

/** A file, its recorded changes after the checkpoint, and the source of contents. */
interface LookedAt {
  readonly file: FileToRecover;
  readonly since: FileHistory | undefined;
  readonly request: ParticipantRequest;
}

/** Restores required files whose contents are in the agent's log. */
export class FileRecovery implements RecoveryParticipant {
  readonly #files: WorkspaceFiles;
  readonly #restore: FileRestore;
  readonly #resolver: ConflictResolver;
  readonly #host: () => ParticipantContext;

  constructor(options: {
    readonly files: WorkspaceFiles;
    readonly restore: FileRestore;
    readonly resolver: ConflictResolver;
    /** @throws TypeError when the workspace is not a participant of an agent. */
    readonly host: () => ParticipantContext;
  }) {
    this.#files = options.files;
    this.#restore = options.restore;
    this.#resolver = options.resolver;
    this.#host = options.host;
  }

  async isOwnWork(mismatch: EnvironmentMismatch, checkpoint: AgentCheckpointData): Promise<boolean> {
    const looked = await this.#look(mismatch, checkpoint);
    return looked !== undefined && isOwnWork(looked.file, looked.since);
  }

  async optionsFor(mismatch: EnvironmentMismatch, checkpoint: AgentCheckpointData): Promise<readonly RecoveryOption[]> {
    const looked = await this.#look(mismatch, checkpoint);
    return looked ? optionsForFile(looked.file, looked.request.content) : [];
  }

  /** @throws RecoveryRefusedError when the merge fails, or the file was deleted or created meanwhile. */
  async prepare(
    mismatch: EnvironmentMismatch,
    option: RecoveryOption,
    checkpoint: AgentCheckpointData,
  ): Promise<() => Promise<void>> {
    const { agentId } = checkpoint;
    const looked = await this.#look(mismatch, checkpoint);
    if (!looked?.file.needed) throw new RecoveryRefusedError(agentId, "its log does not have the content of the file");
    const { request, file } = looked;
    const { path, found, needed, base } = file;
    const kind = found.kind === "missing" ? "file_deleted" : "file_modified_externally";
    const history = { path, ...(needed && { target: needed }), ...(base && { last: base }), known: [] };
    const plan = { kind: "conflict", conflict: { kind, path }, history, found } as const;
    const settled = await settleConflict(plan, option as FileResolution, request.content, this.#resolver);
    if ("refused" in settled)
      throw new RecoveryRefusedError(agentId, `${path} cannot be settled by "${option}": ${settled.refused}`);
    const { step, content: merged } = settled;
    const mergedHash = step.kind === "file" && step.after?.kind === "file" ? step.after.hash : undefined;
    const content = async (hash: string) => (merged && hash === mergedHash ? merged : request.content(hash));
    return () => this.#restore.apply(step, { ...request, content });
  }

  async #look(mismatch: EnvironmentMismatch, checkpoint: AgentCheckpointData): Promise<LookedAt | undefined> {
    if (mismatch.kind !== "file_modified_externally" && mismatch.kind !== "file_deleted") return undefined;
    const path = this.#pathOf(mismatch.path, checkpoint);
    if (path === undefined) return undefined;
    const { agentId, checkpointId, recoveryInfo } = checkpoint;
    const host = this.#host();
    const request = await host.request(agentId, checkpointId, fileNoteKey);
    const below = request.notes.map(({ value }) => fileNoteOf(value)).reverse();
    const since = fileHistories(below.flatMap(({ changes }) => changes)).find((history) => history.path === path);
    const before = (await host.notesBefore(agentId, checkpointId, fileNoteKey)).map(({ value }) => fileNoteOf(value));
    const hash = recoveryInfo.fileHashes?.[mismatch.path] ?? "";
    const content = await request.content(hash);
    const kept = content && { hash, bytes: content.length };
    const file = fileToRecover(path, await this.#files.read(path), { before, since, kept });
    return { file, since, request };
  }

  /** The path below the root of a file that is named relative to the working directory of the run; `undefined`: outside the root. */
  #pathOf(required: string, { recoveryInfo: { workingDirectory } }: AgentCheckpointData): string | undefined {
    if (workingDirectory === undefined && !isAbsolute(required)) return undefined;
    const { root } = this.#files;
    const path = relative(root, resolve(workingDirectory ?? root, required));
    try {
      return relativePath(path.split(sep).join("/"));
    } catch (error) {
      if (error instanceof PathNotAllowedError) return undefined;
      throw error;
    }
  }
}
