import { z } from "zod";
import type { AnyTool } from "../agent/tool/Tool.ts";
import { fileNoteKey } from "../checkpoint/data/FileChange.ts";
import { InvalidInputError } from "../errors/agentErrors.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import {
  customSchema,
  functionSchema,
  nonEmptyString,
  integerFrom,
  objectWithMethods,
} from "../internal/options/optionSchemas.ts";
import { Mutex } from "../internal/Mutex.ts";
import type {
  Comparison,
  ComparisonRequest,
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
import { leftOutOf, type Scan } from "./capture/Scan.ts";
import type { LeftOutFile } from "./files/FileNote.ts";
import { ConflictResolver } from "./conflicts/ConflictResolver.ts";
import { WorkspaceFiles } from "./files/WorkspaceFiles.ts";
import type { GitCommitRequest, GitCommitResult } from "./git/commitFiles.ts";
import { commitInRun } from "./tools/commitTool.ts";
import type { RecoveryParticipant } from "../environment/RecoveryParticipant.ts";
import { compareFiles } from "./restore/compareFiles.ts";
import { folderWithin, relativePath } from "./files/relativePath.ts";
import { fileAt, type FileAtCheckpoint } from "./restore/FileHistory.ts";
import { FileRecovery } from "./restore/FileRecovery.ts";
import { type ConflictHandler, FileRestore } from "./restore/FileRestore.ts";
import { GitRestore } from "./restore/GitRestore.ts";
import { describeRestore, restoreStepOf } from "./restore/RestoreStep.ts";
import { fileTools } from "./tools/fileTools.ts";

const defaultMaximumFileBytes = 10 * 1024 * 1024;
const defaultMaximumFiles = 20_000;
const needsOwnFolder = "the storage must have its own folder, such as `.agent-persistence` in the root";

/** Options of a `Workspace`. */
export interface WorkspaceOptions {
  /** The root directory, relative to the working directory of the process. It must exist. */
  readonly root: string;
  /**
   * Decides how a rollback resolves the conflict of a file that others changed after the agent. Without this function,
   * the rollback rejects with FileConflictError, which lists the conflicts, and makes no change.
   */
  readonly onConflict?: ConflictHandler | undefined;
  /** Merges if `onConflict` returns `merge`. A remaining conflict refuses the rollback. Defaults to clean merges. */
  readonly conflictResolver?: ConflictResolver | undefined;
  /** The maximum size in bytes of files that are read, written or restored. Defaults to 10,485,760 (10 MB). */
  readonly maximumFileBytes?: number | undefined;
  /**
   * Patterns of files that `capture` ignores, in the format of a `.gitignore` in the root. These patterns apply after
   * the `.gitignore` files. A pattern with "!" includes files again. `.git`, `.agent-persistence` and the storage
   * directory are always ignored.
   */
  readonly ignore?: readonly string[] | undefined;
  /** The maximum number of files that `capture` stores. Further files are skipped and reported. Defaults to 20,000. */
  readonly maximumFiles?: number | undefined;
  /**
   * Whether a rollback also restores HEAD and the index entries that commands inside `capture` changed. A rollback
   * never moves branches. Defaults to `false`: the report and `preview` only list these changes.
   */
  readonly restoreGitState?: boolean | undefined;
}

const optionsSchema = strictOptions(() => ({
  root: nonEmptyString,
  onConflict: functionSchema().optional(),
  conflictResolver: objectWithMethods<ConflictResolver>("resolve").optional(),
  maximumFileBytes: integerFrom(0).optional(),
  ignore: z.array(z.string()).optional(),
  maximumFiles: integerFrom(0).optional(),
  restoreGitState: z.boolean().optional(),
}));

const previewSchema = z.object({
  checkpointId: z.string(),
  options: strictOptions(() => ({ agentId: z.string().optional() })),
});

const fileAtSchema = previewSchema.extend({ path: nonEmptyString });

const contentSchema = z.object({
  hash: z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256, 64 lower-case hex characters"),
  options: strictOptions(() => ({ agentId: z.string().optional() })),
});

const captureSchema = z.object({
  action: functionSchema(),
  context: customSchema("the context of a node or tool", (value) => Object(value) === value),
});

/** The result of `scan`. */
export interface ScannedFolder {
  readonly files: number;
  /** The total size of all contents. */
  readonly bytes: number;
  /** Files whose contents are not stored, with the reason. If such a file has changed, a rollback reports it. */
  readonly leftOut: readonly LeftOutFile[];
}

/** The effect of a rollback on one file. */
export interface PreviewedFile {
  /** Relative to the root. `.git/HEAD`, `.git/index` and `.git/refs/…` refer to the repository of the root. */
  readonly path: string;
  /**
   * `write` changes the content or restores a deleted file. `delete` deletes the file. `conflict` means that others
   * changed or deleted the file, so `onConflict` decides. `not_restored` means that the log does not contain the
   * content of the file.
   */
  readonly change: "write" | "delete" | "conflict" | "not_restored";
  /** The reason for `not_restored`, as the end of a sentence that starts with the path. */
  readonly reason?: string;
}

/**
 * Files that are rolled back together with the agent. The tools record the contents before and after each change in the
 * agent's log. All workspaces of a run must have the same root.
 *
 * @example
 * ```ts
 * const workspace = new Workspace({ root: "project" });
 * const agent = new AIAgent({ promptExecutor, llmModel, tools: workspace.tools });
 * agent.install(Persistence, { storage, participants: [workspace] });
 * ```
 */
export class Workspace implements RollbackParticipant {
  readonly key: string = fileNoteKey;
  /**
   * `read_file`, `write_file`, `edit_file`, `delete_file` and `move_file`, restricted to the root. All except
   * `read_file` are `dangerous`.
   */
  readonly tools: readonly AnyTool[];
  /**
   * The recovery participant that restores files that others changed or deleted, for `recoverTask(agent, {
   * participants: [workspace.recovery] })`. Offers `use_checkpoint`, `merge` and `restore` if the agent's log contains
   * the contents. A restored file gets the state in which the agent left the file. `merge` combines the changes of the
   * agent and of others since the agent's first change. Replaced content is not stored.
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
    const rules = IgnoreRules.of(ignore);
    const isClosed = (path: string) => this.#files.isClosed(path);
    this.#capture = new FileCapture({ root: this.root, rules, maximumFileBytes, maximumFiles, isClosed });
    const scan = (before: Scan) => this.#capture.scan(before);
    const git = new GitRestore(this.root, options.restoreGitState ?? false, () => this.#capture.gitState());
    this.#restore = new FileRestore(this.#files, onConflict, conflictResolver, scan, git);
    this.recovery = new FileRecovery(this.#restore, () => this.#attached());
    const contentOf = async (agentId: string, hash: string) => this.#host?.content(agentId, hash);
    this.tools = fileTools(this.#files, new Mutex(), contentOf);
  }

  /** The absolute path of the root. */
  get root(): string {
    return this.#files.root;
  }

  /**
   * Runs an action that changes files, such as a command, and records its changes for rollbacks. Call it in a tool or
   * node: `execute: (input, { context }) => workspace.capture(context, () => …)`. Changes that others make during the
   * action count as changes of the action. Captures of this process in overlapping directories run one at a time, so
   * that agents do not record each other's changes. Ignored files are not recorded.
   *
   * The first capture of a run reads every file and stores the contents in the agent's log. Later captures read only
   * changed files.
   *
   * @returns the result of `action`. If `action` throws, its changes are recorded before the error is rethrown.
   * @throws InvalidInputError, also if the run has recorded files of another root
   */
  async capture<Result>(context: AgentContext, action: () => Result | PromiseLike<Result>): Promise<Result> {
    checkSchema(captureSchema, { action, context }, "capture");
    return this.#capture.around(context, action);
  }

  /**
   * Commits files on the current branch like `commitFiles`. Checks for drift first if `Drift` is installed. If the
   * drift is high, the run waits before the commit.
   *
   * @throws InvalidInputError, GitError, PathNotAllowedError, FileAccessError
   */
  commit(context: AgentContext, request: Omit<GitCommitRequest, "signal">): Promise<GitCommitResult> {
    return commitInRun(context, this.root, request);
  }

  /** Returns the files that `capture` would scan, without storing anything. */
  async scan(): Promise<ScannedFolder> {
    const scan = await this.#capture.scan();
    const states = [...scan.files.values()].flatMap(({ state }) => (state ? [state] : []));
    const bytes = states.reduce((sum, state) => sum + (state.kind === "file" ? state.bytes : 0), 0);
    return { files: states.length, bytes, leftOut: leftOutOf(scan) };
  }

  /**
   * Returns the effect that a rollback to a checkpoint would have on the current files. Calls no handler and makes no
   * change.
   *
   * @param options.agentId defaults to the agent that the definition last ran or accessed. If there is none, it
   * defaults to the id of the definition
   * @throws InvalidInputError, CheckpointNotFoundError, NotAnAncestorError, PathNotAllowedError, FileAccessError
   */
  async preview(
    checkpointId: string,
    options: { readonly agentId?: string | undefined } = {},
  ): Promise<readonly PreviewedFile[]> {
    checkSchema(previewSchema, { checkpointId, options }, "preview");
    const host = this.#attached();
    const { agentId = host.agentId } = options;
    const { files, git, unknown } = await this.#restore.look(await host.request(agentId, checkpointId, this.key));
    return [
      ...files.map(({ kind, history: { path, target } }): PreviewedFile => {
        return { path, change: kind === "conflict" ? "conflict" : target ? "write" : "delete" };
      }),
      ...git.map(({ part, conflict }): PreviewedFile => ({ path: part.path, change: conflict ? "conflict" : "write" })),
      ...unknown.map(({ path, reason }): PreviewedFile => ({ path, change: "not_restored", reason })),
    ];
  }

  /**
   * Returns a file in its state at a checkpoint.
   *
   * @param path relative to the root
   * @param options.agentId as for `preview`
   * @returns `undefined` if the agent did not change the file, or if its content was pruned
   * @throws InvalidInputError, CheckpointNotFoundError, NotAnAncestorError, PathNotAllowedError
   */
  async fileAt(
    path: string,
    checkpointId: string,
    options: { readonly agentId?: string | undefined } = {},
  ): Promise<FileAtCheckpoint | undefined> {
    checkSchema(fileAtSchema, { path, checkpointId, options }, "fileAt");
    const host = this.#attached();
    const { agentId = host.agentId } = options;
    return fileAt(host, { agentId, checkpointId, key: this.key, path: relativePath(path) });
  }

  /**
   * Returns a content from the agent's log, such as the content that `use_checkpoint` replaced. The steps of a report
   * name its hash as `replaced`.
   *
   * @param hash SHA-256, 64 lower-case hex characters
   * @param options.agentId as for `preview`
   * @returns `undefined` if the log does not contain the content
   * @throws InvalidInputError
   */
  async contentOf(
    hash: string,
    options: { readonly agentId?: string | undefined } = {},
  ): Promise<Uint8Array | undefined> {
    checkSchema(contentSchema, { hash, options }, "contentOf");
    const host = this.#attached();
    return host.content(options.agentId ?? host.agentId, hash);
  }

  /** @throws InvalidInputError if the root is the storage directory */
  onInstall(host: ParticipantContext): void {
    const { storageFolder } = host;
    const at = storageFolder === undefined ? undefined : folderWithin(this.root, storageFolder);
    if (at === "") throw new InvalidInputError("root of the workspace", [{ path: "", expected: needsOwnFolder }]);
    if (at !== undefined) this.#files.close(at);
    this.#host = host;
  }

  plan(request: ParticipantRequest): Promise<ParticipantPlan> {
    return this.#restore.plan(request);
  }

  planRedo(request: ParticipantRequest): Promise<ParticipantPlan> {
    return this.#restore.plan(request);
  }

  apply(step: unknown, request: StepRequest): Promise<unknown> {
    return this.#restore.apply(restoreStepOf(step), request);
  }

  describe(step: unknown, outcome: unknown): readonly DescribedStep[] {
    return describeRestore(restoreStepOf(step), outcome);
  }

  compare(request: ComparisonRequest): Promise<Comparison> {
    return compareFiles(this.#files, request);
  }

  #attached(): ParticipantContext {
    if (this.#host) return this.#host;
    throw new TypeError(
      "This workspace is not a participant of an agent. Pass it to install(Persistence, { participants: [workspace] }).",
    );
  }
}
