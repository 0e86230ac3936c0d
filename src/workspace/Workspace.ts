import { z } from "zod";
import type { AnyTool } from "../agent/tool/Tool.ts";
import { fileNoteKey } from "../checkpoint/data/FileChange.ts";
import { InvalidInputError } from "../errors/agent/InvalidInputError.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { functionSchema, nonEmptyString, integerFrom, objectWithMethods } from "../internal/options/optionSchemas.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";
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
import { folderWithin } from "./files/folderWithin.ts";
import { relativePath } from "./files/relativePath.ts";
import { fileAt, type FileAtCheckpoint } from "./restore/fileAt.ts";
import { FileRecovery } from "./restore/FileRecovery.ts";
import { type ConflictHandler, FileRestore } from "./restore/FileRestore.ts";
import { GitRestore } from "./restore/GitRestore.ts";
import { describeRestore, restoreStepOf } from "./restore/RestoreStep.ts";
import { fileTools } from "./tools/fileTools.ts";

const defaultMaximumFileBytes = 10 * 1024 * 1024;
const defaultMaximumFiles = 20_000;
const needsOwnFolder = "the storage must have its own folder, such as `.agent-persistence` in the root";

/** How to set up a workspace. */
export interface WorkspaceOptions {
  /** The folder with the files, relative to the working directory of the process. It must exist. */
  readonly root: string;
  /**
   * Decides for each file that others changed since the agent, when a rollback is about to restore it. Default: the rollback
   * is refused with FileConflictError, which lists the conflicts, and nothing changes.
   */
  readonly onConflict?: ConflictHandler | undefined;
  /**
   * Makes the content when `onConflict` answers `merge`; a conflict that it does not resolve refuses the rollback. Default:
   * only clean merges.
   */
  readonly conflictResolver?: ConflictResolver | undefined;
  /** Larger files are not read, written or restored, in bytes. Default: 10,485,760 (10 MB). */
  readonly maximumFileBytes?: number | undefined;
  /**
   * Patterns of files that `capture` ignores, as in a `.gitignore` in the root. They apply after the `.gitignore` files; a
   * pattern with "!" includes what those ignore. `.git`, `.agent-persistence` and the folder of the storage are always
   * ignored. Default: none.
   */
  readonly ignore?: readonly string[] | undefined;
  /** The number of files that `capture` keeps; further files are skipped and reported. Default: 20,000. */
  readonly maximumFiles?: number | undefined;
  /**
   * A rollback also restores HEAD and the entries of the index that commands within `capture` changed. It moves no branch.
   * Default: false; the report and `preview` only name these changes.
   */
  readonly restoreGitState?: boolean | undefined;
}

const optionsSchema = strictOptions({
  root: nonEmptyString,
  onConflict: functionSchema().optional(),
  conflictResolver: objectWithMethods<ConflictResolver>("resolve").optional(),
  maximumFileBytes: integerFrom(0).optional(),
  ignore: z.array(z.string()).optional(),
  maximumFiles: integerFrom(0).optional(),
  restoreGitState: z.boolean().optional(),
});

const previewSchema = z.object({
  checkpointId: z.string(),
  options: strictOptions({ agentId: z.string().optional() }),
});

const fileAtSchema = previewSchema.extend({ path: nonEmptyString });

const contentSchema = z.object({
  hash: z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256, 64 lower-case hex characters"),
  options: strictOptions({ agentId: z.string().optional() }),
});

const captureSchema = z.object({ action: functionSchema() });

/** What `capture` would scan. */
export interface ScannedFolder {
  readonly files: number;
  /** Total size of all contents. */
  readonly bytes: number;
  /** Files whose contents are not kept, with the reason; a rollback reports them if they changed. */
  readonly leftOut: readonly LeftOutFile[];
}

/** What a rollback would do to a file. */
export interface PreviewedFile {
  /** Relative to the root. `.git/HEAD`, `.git/index` and `.git/refs/…` stand for those of the repository. */
  readonly path: string;
  /**
   * `write`: its content changes, or the deleted file is restored. `delete`: it is deleted. `conflict`: others changed or
   * deleted it, and `onConflict` decides. `not_restored`: the agent changed it, and the log does not have its content.
   */
  readonly change: "write" | "delete" | "conflict" | "not_restored";
  /** Why it is not restored. Completes a sentence that begins with the path. Only with `not_restored`. */
  readonly reason?: string;
}

/**
 * Files that roll back together with the agent: `install(Persistence, { participants: [workspace] })`, and give its `tools`
 * to the agent. Before such a tool changes a file, the contents before and after are recorded in the agent's log.
 */
export class Workspace implements RollbackParticipant {
  readonly key: string = fileNoteKey;
  /** `read_file`, `write_file`, `edit_file`, `delete_file` and `move_file`, all within the root. All but the first are `dangerous`. */
  readonly tools: readonly AnyTool[];
  /**
   * Pass this to `recoverTask(agent, { participants: [workspace.recovery] })` to restore files that others changed or
   * deleted, if the agent's log has their contents: `use_checkpoint`, `merge` and `restore`. A file becomes what the
   * resumed run needs: the file as the agent left it. `merge` combines the changes of the agent and of others since the
   * agent's first change. Replaced content is not kept.
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
    this.tools = fileTools(this.#files, new Mutex());
  }

  /** The folder, as an absolute path. */
  get root(): string {
    return this.#files.root;
  }

  /**
   * Runs an action that changes files, such as a command, and records its changes so that a rollback reverts them. Call it in
   * the body of a tool or node: `execute: (input, { context }) => workspace.capture(context, () => …)`. Changes of others
   * during the action count as its own; captures of this process in one folder take turns, so that those of other branches and
   * agents are no others. Ignored files are not recorded.
   *
   * The first capture of a run reads every file of the folder and keeps the contents in the agent's log; later captures read
   * only changed files.
   *
   * @returns what `action` returns; if it throws, its changes are recorded before the error is rethrown.
   * @throws InvalidInputError
   */
  async capture<Result>(context: AgentContext, action: () => Result | PromiseLike<Result>): Promise<Result> {
    checkSchema(captureSchema, { action }, "capture");
    return this.#capture.around(context, action);
  }

  /**
   * Commits files on the branch that is checked out, as `commitFiles` does. If `Drift` is installed, it checks for drift
   * first, and the run waits on high drift before anything is committed.
   *
   * @throws InvalidInputError, GitError, PathNotAllowedError, FileAccessError
   */
  commit(context: AgentContext, request: Omit<GitCommitRequest, "signal">): Promise<GitCommitResult> {
    return commitInRun(context, this.root, request);
  }

  /** What `capture` would scan now. Keeps nothing. */
  async scan(): Promise<ScannedFolder> {
    const scan = await this.#capture.scan();
    const states = [...scan.files.values()].flatMap(({ state }) => (state ? [state] : []));
    const bytes = states.reduce((sum, state) => sum + (state.kind === "file" ? state.bytes : 0), 0);
    return { files: states.length, bytes, leftOut: leftOutOf(scan) };
  }

  /**
   * What a rollback from outside a run to a checkpoint would do to the current files. Calls no handler and changes nothing.
   *
   * @param options.agentId default: the agent that was last run or accessed through the definition in which this workspace
   *   is a participant, or that definition's own id.
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
   * A file as it was at a checkpoint: what a rollback would restore, and the base of a merge.
   *
   * @param path relative to the root.
   * @param options.agentId as for `preview`.
   * @returns `undefined` when the agent's log does not say: the agent did not change the file, or retention removed the content.
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
   * A content that the agent's log keeps, such as what `use_checkpoint` replaced: see `replaced` in the steps of a report.
   *
   * @param hash SHA-256, 64 lower-case hex characters.
   * @param options.agentId as for `preview`.
   * @returns `undefined` when the log does not have it.
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

  /** @throws InvalidInputError when the root is the folder of the storage. */
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
