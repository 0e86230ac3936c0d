import { z } from "zod";
import type { AnyTool } from "../agent/tool/Tool.ts";
import { fileNoteKey } from "../checkpoint/data/FileChange.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { functionSchema, nonEmptyString, integerFrom, objectWithMethods } from "../internal/options/optionSchemas.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";
import { Mutex } from "../internal/Mutex.ts";
import type {
  DescribedStep,
  ParticipantContext,
  ParticipantPlan,
  ParticipantRequest,
  RollbackParticipant,
  StepRequest,
} from "../journal/RollbackParticipant.ts";
import type { AgentContext } from "../agent/context/AgentContext.ts";
import { FileCapture } from "./capture/FileCapture.ts";
import { IgnoreRules } from "./capture/IgnoreRules.ts";
import { leftOutOf } from "./capture/Scan.ts";
import type { LeftOutFile } from "./files/FileNote.ts";
import { ConflictResolver } from "./conflicts/ConflictResolver.ts";
import { WorkspaceFiles } from "./files/WorkspaceFiles.ts";
import type { CommitRequest, CommittedFiles } from "./git/commitFiles.ts";
import { commitInRun } from "./tools/commitTool.ts";
import type { RecoveryParticipant } from "../persistence/environment/RecoveryParticipant.ts";
import { FileRecovery } from "./restore/FileRecovery.ts";
import { FileRestore, type ConflictHandler } from "./restore/FileRestore.ts";
import { describeRestoreStep, restoreStepOf } from "./restore/RestoreStep.ts";
import { fileTools } from "./tools/fileTools.ts";

const defaultMaximumFileBytes = 10 * 1024 * 1024;
const defaultMaximumFiles = 20_000;

/** What a workspace is made of. */
export interface WorkspaceOptions {
  /** The folder with the files. Relative to the working directory of the process; it must be there. */
  readonly root: string;
  /**
   * Asked how to settle each file that somebody else has changed since the agent did, when a rollback is to restore it.
   * Default: nobody is asked; the rollback is refused with FileConflictError, which lists them, and nothing has changed.
   */
  readonly onConflict?: ConflictHandler | undefined;
  /**
   * Makes the content when `onConflict` answers `merge`; a conflict that it does not settle refuses the rollback. Default:
   * clean merges, and nobody is asked.
   */
  readonly conflictResolver?: ConflictResolver | undefined;
  /** Files of more bytes are not read, written or restored. Default 10,485,760 (10 MB). */
  readonly maximumFileBytes?: number | undefined;
  /**
   * What `capture` passes over beside what `.gitignore` files say, in the form of a `.gitignore` in the root; a pattern with
   * "!" takes back what those ignore. `.git` and `.agent-persistence` always are. Default: nothing.
   */
  readonly ignore?: readonly string[] | undefined;
  /** How many files `capture` keeps; those beyond are reported. Default 20,000. */
  readonly maximumFiles?: number | undefined;
}

const optionsSchema = strictOptions({
  root: nonEmptyString,
  onConflict: functionSchema().optional(),
  conflictResolver: objectWithMethods<ConflictResolver>("resolve").optional(),
  maximumFileBytes: integerFrom(0).optional(),
  ignore: z.array(z.string()).optional(),
  maximumFiles: integerFrom(0).optional(),
});

const previewSchema = z.object({
  checkpointId: z.string(),
  options: strictOptions({ agentId: z.string().optional() }),
});

const captureSchema = z.object({ action: functionSchema() });

/** What `capture` would look at. */
export interface ScannedFolder {
  readonly files: number;
  /** Of all contents together. */
  readonly bytes: number;
  /** Files that are not kept, with why; a rollback reports them when they changed. */
  readonly leftOut: readonly LeftOutFile[];
}

/** What a rollback would do to a file. */
export interface PreviewedFile {
  /** Relative to the root. */
  readonly path: string;
  /**
   * `write`: it is changed, or comes back after it was deleted. `delete`: it goes. `conflict`: somebody else has changed or
   * deleted it, and `onConflict` decides.
   */
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
  /**
   * What `recoverTask(agent, { participants: [workspace.recovery] })` needs to bring required files back that somebody changed or
   * deleted: `use_checkpoint`, `merge` and `restore`, as far as the agent's log has the contents. They become what the run
   * that goes on needs: what the agent left. `merge` brings together what the agent and somebody else made of the file that
   * the agent first changed. What is replaced is not kept.
   */
  readonly recovery: RecoveryParticipant;
  readonly #files: WorkspaceFiles;
  readonly #restore: FileRestore;
  readonly #capture: FileCapture;
  #host: ParticipantContext | undefined;

  /** @throws InvalidInputError */
  constructor(options: WorkspaceOptions) {
    checkSchema(optionsSchema, options, "options of the workspace");
    const { root, onConflict, conflictResolver = new ConflictResolver(), ignore = [] } = options;
    const { maximumFileBytes = defaultMaximumFileBytes, maximumFiles = defaultMaximumFiles } = options;
    this.#files = new WorkspaceFiles(root, maximumFileBytes);
    this.#restore = new FileRestore(this.#files, onConflict, conflictResolver);
    const rules = IgnoreRules.of(ignore);
    this.#capture = new FileCapture({ root: this.root, rules, maximumFileBytes, maximumFiles });
    this.recovery = new FileRecovery({
      files: this.#files,
      restore: this.#restore,
      resolver: conflictResolver,
      host: () => this.#attached(),
    });
    this.tools = fileTools(this.#files, new Mutex());
  }

  /** The folder, as an absolute path. */
  get root(): string {
    return this.#files.root;
  }

  /**
   * Does something that changes files on its own, such as running a command, and notes what it changed, so that a rollback
   * takes it back. For the body of a tool or node: `execute: (input, { context }) => workspace.capture(context, () => …)`.
   * What else changes files meanwhile is taken for its work. Does nothing to files that are ignored.
   *
   * The first capture of a run reads every file of the folder and keeps its content in the agent's log; later ones read what
   * changed since.
   *
   * @returns what `action` returns; what it throws is thrown after its changes are noted.
   */
  async capture<Result>(context: AgentContext, action: () => Result | PromiseLike<Result>): Promise<Result> {
    checkSchema(captureSchema, { action }, "capture");
    return this.#capture.around(context, action);
  }

  /**
   * Commits files on the branch that is checked out, as `commitFiles` does, after a look for drift where `Drift` is
   * installed: a high one makes the run wait before anything is committed.
   *
   * @throws GitError, PathNotAllowedError, FileAccessError
   */
  commit(context: AgentContext, request: Omit<CommitRequest, "signal">): Promise<CommittedFiles> {
    return commitInRun(context, this.root, request);
  }

  /** What `capture` would look at now. Keeps nothing. */
  async scan(): Promise<ScannedFolder> {
    const scan = await this.#capture.scan();
    const states = [...scan.files.values()].flatMap(({ state }) => (state ? [state] : []));
    const bytes = states.reduce((sum, state) => sum + (state.kind === "file" ? state.bytes : 0), 0);
    return { files: states.length, bytes, leftOut: leftOutOf(scan) };
  }

  /**
   * What a rollback to a checkpoint would do to the files as they are now; asks nobody and changes nothing.
   *
   * @param options.agentId default: the agent that was run or asked for last through the definition in which this workspace
   *   is a participant, or else that definition's own.
   * @throws CheckpointNotFoundError, NotAnAncestorError, PathNotAllowedError, FileAccessError
   */
  async preview(
    checkpointId: string,
    options: { readonly agentId?: string | undefined } = {},
  ): Promise<readonly PreviewedFile[]> {
    checkSchema(previewSchema, { checkpointId, options }, "preview");
    const host = this.#attached();
    const { agentId = host.agentId } = options;
    const { files } = await this.#restore.look(await host.request(agentId, checkpointId, this.key));
    return files.map(({ kind, history: { path, target } }) => ({
      path,
      change: kind === "conflict" ? "conflict" : target ? "write" : "delete",
    }));
  }

  onInstall(host: ParticipantContext): void {
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

  #attached(): ParticipantContext {
    if (this.#host) return this.#host;
    throw new TypeError("This workspace is no participant of an agent: install(Persistence, { participants }).");
  }
}
