import type { AnyTool } from "../agent/Tool.ts";
import { fileNoteKey } from "../checkpoint/FileChange.ts";
import { Turns } from "../internal/Turns.ts";
import type {
  DescribedStep,
  ParticipantHost,
  ParticipantPlan,
  ParticipantRequest,
  RollbackParticipant,
  StepRequest,
} from "../journal/RollbackParticipant.ts";
import { WorkspaceFiles } from "./files/WorkspaceFiles.ts";
import { FileRestore, type ConflictHandler } from "./restore/FileRestore.ts";
import { describeRestoreStep, restoreStepOf } from "./restore/RestoreStep.ts";
import { fileTools } from "./tools/fileTools.ts";

const defaultMaximumFileBytes = 10 * 1024 * 1024;

/** What a workspace is made of. */
export interface WorkspaceOptions {
  /** The folder with the files. Relative to the working directory of the process; it must be there. */
  readonly root: string;
  /**
   * Asked how to settle each file that somebody else has changed since the agent did, when a rollback is to restore it.
   * Default: nobody is asked; the rollback is refused with FileConflictError, which lists them, and nothing has changed.
   */
  readonly onConflict?: ConflictHandler;
  /** Files of more bytes are not read, written or restored. Default 10,485,760 (10 MB). */
  readonly maximumFileBytes?: number;
}

/** What a rollback would do to a file. `conflict`: somebody else has changed it, and `onConflict` decides. */
export interface PreviewedFile {
  /** Relative to the root. */
  readonly path: string;
  readonly change: "write" | "delete" | "conflict";
}

/**
 * Files that go back together with the agent: `install(Persistence, { participants: [workspace] })`, and give its `tools`
 * to the agent. What an agent changes through them is noted in the agent's log with its content before and after, before
 * the file changes.
 */
export class Workspace implements RollbackParticipant {
  readonly key: string = fileNoteKey;
  /** `read_file`, `write_file`, `edit_file`, `delete_file` and `move_file`, all within the root. */
  readonly tools: readonly AnyTool[];
  readonly #files: WorkspaceFiles;
  readonly #restore: FileRestore;
  #host: ParticipantHost | undefined;

  constructor({ root, onConflict, maximumFileBytes = defaultMaximumFileBytes }: WorkspaceOptions) {
    this.#files = new WorkspaceFiles(root, maximumFileBytes);
    this.#restore = new FileRestore(this.#files, onConflict);
    this.tools = fileTools(this.#files, new Turns());
  }

  /** The folder, as an absolute path. */
  get root(): string {
    return this.#files.root;
  }

  /**
   * What a rollback to a checkpoint would do to the files as they are now; asks nobody and changes nothing.
   *
   * @param options.agentId default: the agent that was run or asked for last through the definition in which this workspace
   *   is a participant, or else that definition's own.
   * @throws CheckpointNotFoundError, NotAnAncestorError, PathNotAllowedError, FileAccessError
   */
  async preview(checkpointId: string, options: { readonly agentId?: string } = {}): Promise<readonly PreviewedFile[]> {
    if (!this.#host)
      throw new TypeError("This workspace is no participant of an agent: install(Persistence, { participants }).");
    const { agentId = this.#host.agentId } = options;
    const { files } = await this.#restore.look(await this.#host.request(agentId, checkpointId, this.key));
    return files.map(({ kind, history: { path, target } }) => ({
      path,
      change: kind === "conflict" ? "conflict" : target ? "write" : "delete",
    }));
  }

  attach(host: ParticipantHost): void {
    this.#host = host;
  }

  plan(request: ParticipantRequest): Promise<ParticipantPlan> {
    return this.#restore.plan(request);
  }

  apply(step: unknown, request: StepRequest): Promise<void> {
    return this.#restore.apply(restoreStepOf(step), request);
  }

  describe(step: unknown): DescribedStep {
    return describeRestoreStep(restoreStepOf(step));
  }
}
