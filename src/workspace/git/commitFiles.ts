import { join } from "node:path";
import { z } from "zod";
import { reasonOf } from "../../internal/reasonOf.ts";
import { GitError } from "../../errors/workspace/GitError.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { abortSignalSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { foldersAbove, relativePath } from "../files/relativePath.ts";
import { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { entriesOf, submodule, updateIndex } from "./changes.ts";
import { GitRepository } from "./GitRepository.ts";
import { type IndexEntry, indexEntries } from "./indexEntries.ts";
import { IndexLock } from "./IndexLock.ts";
import { assertNothingInProgress } from "./operations.ts";
import { commitOf, currentBranch } from "./history.ts";
import { checkedId } from "./refName.ts";

/** The author of a commit. */
export interface CommitAuthor {
  readonly name: string;
  readonly email: string;
}

/** What to commit. Messages and names may not be empty. */
export interface GitCommitRequest {
  readonly message: string;
  /** Files to commit as they are in the work tree, relative to its root. A missing file is removed from the commit. */
  readonly paths: readonly string[];
  readonly author: CommitAuthor;
  /** Aborts git; the call then rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The result of a commit. */
export interface GitCommitResult {
  /** The commit that is now checked out. */
  readonly commit: string;
  /** The commit before it; empty for the first commit. */
  readonly parent: string;
  /** False when HEAD already had these files, so that no commit was made. */
  readonly made: boolean;
  /**
   * The branch that got the commit, such as `refs/heads/main`; empty for a detached HEAD. Absent when no commit was made, and
   * in results that earlier versions recorded.
   */
  readonly branch?: string | undefined;
}

export const authorSchema: z.ZodType<CommitAuthor> = strictOptions({ name: nonEmptyString, email: z.string() });

const requestShape = { message: nonEmptyString, paths: z.array(z.string()), author: authorSchema };

/** A request in a run, which brings its own signal. */
export const commitInRunSchema: z.ZodType = strictOptions(requestShape);

const commitSchema = z.object({
  root: nonEmptyString,
  request: strictOptions({ ...requestShape, signal: abortSignalSchema.optional() }),
});

const maximumFileBytes = 64 * 1024 * 1024;

/**
 * Commits files on the branch that is checked out, byte for byte: no hook or filter runs, and nothing is signed. Other
 * staged changes stay staged. If HEAD moves meanwhile, nothing is committed. During a merge, rebase, cherry-pick or revert of
 * somebody, and while the index has unmerged files, nothing is committed either. A file of a submodule is refused, as is one
 * that a sparse checkout or `skip-worktree` leaves out of the work tree.
 *
 * @throws InvalidInputError, GitError, PathNotAllowedError, FileAccessError
 */
export async function commitFiles(root: string, request: GitCommitRequest): Promise<GitCommitResult> {
  checkSchema(commitSchema, { root, request }, "commit");
  const paths = request.paths.map((path) => relativePath(path));
  const commit = (repository: GitRepository): Promise<GitCommitResult> => {
    const inRepository = paths.map((path) => `${repository.prefix}${path}`);
    return commitPaths(repository, new WorkspaceFiles(repository.root, maximumFileBytes), inRepository, request);
  };
  return GitRepository.with(root, commit, request.signal);
}

/**
 * Moves the branch that is checked out, or a detached HEAD, if it is still at `from`.
 *
 * @returns the branch; empty for a detached HEAD.
 */
export async function moveHead(repository: GitRepository, move: RefMove): Promise<string> {
  const branch = (await currentBranch(repository)) ?? "";
  await moveRef(repository, branch, move);
  return branch;
}

/** From one commit to another; without a `from` there must be none. */
interface RefMove {
  readonly from: string;
  readonly to: string;
  readonly why: string;
}

/** Moves a branch if it is still at `from`. @param branch empty for a detached HEAD. */
export async function moveRef(repository: GitRepository, branch: string, { from, to, why }: RefMove): Promise<void> {
  await repository.assertWritable(branch === "" ? undefined : branch);
  const args = branch === "" ? ["--no-deref", "-m", why, "HEAD"] : ["-m", why, branch];
  await repository.names(["update-ref", ...args, to, from === "" ? repository.nullId : from]);
}

async function commitPaths(
  repository: GitRepository,
  files: WorkspaceFiles,
  paths: readonly string[],
  { message, author }: GitCommitRequest,
): Promise<GitCommitResult> {
  await repository.assertWritable(await currentBranch(repository));
  await assertNothingInProgress(repository, "commit");
  const parent = (await commitOf(repository, "HEAD")) ?? "";
  const indexFile = join(repository.scratch, "index");
  const environment = { GIT_INDEX_FILE: indexFile };
  await repository.objects(["read-tree", ...(parent === "" ? ["--empty"] : [parent])], { environment });
  const before = await idOf(repository, ["write-tree"], { environment });
  assertInWorkTree(paths, [...(await indexEntries(repository)), ...(await indexEntries(repository, indexFile))]);
  const entries = await entriesOf(repository, files, paths);
  await updateIndex(repository, indexFile, entries);
  const tree = await idOf(repository, ["write-tree"], { environment, keep: true });
  if (tree === before && parent !== "") return { commit: parent, parent, made: false };
  const args = ["commit-tree", tree, ...(parent === "" ? [] : ["-p", parent])];
  const commit = await idOf(repository, args, { environment: identityOf(author), input: message, keep: true });
  // Before the branch: after a crash, staged changes without a commit are harmless, but a commit with an old index would look undone.
  await using lock = await IndexLock.take(repository);
  await lock.update(entries);
  const move = { from: parent, to: commit, why: "commit by an agent" };
  const branch = await moveHead(repository, move).catch((error: unknown) => {
    throw withChanges(error, "The files are staged, but not committed: HEAD is where it was.");
  });
  return { commit, parent, made: true, branch };
}

/** Whether the files are those of this work tree. @throws GitError */
function assertInWorkTree(paths: readonly string[], entries: readonly IndexEntry[]): void {
  const submodules = new Set(entries.filter(({ mode }) => mode === submodule).map(({ path }) => path));
  const skipped = new Set(entries.filter(({ isSkipped }) => isSkipped).map(({ path }) => path));
  for (const path of paths) {
    const within = foldersAbove(path).find((folder) => submodules.has(folder));
    const file = JSON.stringify(path);
    if (within !== undefined)
      throw new GitError("add", `${file} is in the submodule ${JSON.stringify(within)}; commit it there`);
    if (skipped.has(path))
      throw new GitError("add", `${file} is left out of this work tree (sparse checkout or skip-worktree)`);
  }
}

/** An error of git or the file system with what has changed; an abort stays as it is. */
export function withChanges(error: unknown, changed: string): unknown {
  const isOfFiles = error instanceof Error && "syscall" in error;
  if (isOfFiles) return new GitError("update-index", reasonOf(error), { cause: error, changed });
  return error instanceof GitError ? new GitError(error.command, error.reason, { cause: error, changed }) : error;
}

async function idOf(
  repository: GitRepository,
  args: readonly string[],
  options: Parameters<GitRepository["objects"]>[1],
): Promise<string> {
  return checkedId(await repository.objectText(args, options));
}

export function identityOf({ name, email }: CommitAuthor): Readonly<Record<string, string>> {
  return { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email };
}
