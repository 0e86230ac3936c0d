import { join } from "node:path";
import { z } from "zod";
import { reasonOf } from "../../internal/reasonOf.ts";
import { GitError } from "../../errors/workspace/GitError.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { abortSignalSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { relativePath } from "../files/relativePath.ts";
import { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { changedFiles, entriesOf, entryAfter, updateIndex } from "./changes.ts";
import { GitRepository } from "./GitRepository.ts";
import { IndexLock } from "./IndexLock.ts";
import { assertNothingInProgress } from "./operations.ts";
import { commitOf, currentBranch } from "./history.ts";
import { checkedId, commitIdSchema, parentIdSchema } from "./refName.ts";

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
}

export const authorSchema: z.ZodType<CommitAuthor> = strictOptions({ name: nonEmptyString, email: z.string() });

const requestShape = { message: nonEmptyString, paths: z.array(z.string()), author: authorSchema };

/** A request in a run, which brings its own signal. */
export const commitInRunSchema: z.ZodType = strictOptions(requestShape);

const commitSchema = z.object({
  root: nonEmptyString,
  request: strictOptions({ ...requestShape, signal: abortSignalSchema.optional() }),
});

const revertSchema = z.object({
  root: nonEmptyString,
  committed: z.object({ commit: commitIdSchema, parent: parentIdSchema, made: z.boolean() }),
});

const maximumFileBytes = 64 * 1024 * 1024;

/**
 * Commits files on the branch that is checked out, byte for byte: no hook or filter runs, and nothing is signed. Other
 * staged changes stay staged. If HEAD moves meanwhile, nothing is committed. During a merge, rebase, cherry-pick or revert of
 * somebody, and while the index has unmerged files, nothing is committed either.
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
 * Reverts a commit: moves the branch back to the parent, if the commit is still its newest one. Files and other staged
 * changes stay. Reverting again does nothing.
 *
 * @throws InvalidInputError; GitError when the branch has newer commits, or the commit has no parent.
 */
export async function revertCommit(root: string, committed: GitCommitResult): Promise<void> {
  checkSchema(revertSchema, { root, committed }, "commit to revert");
  const { commit, parent, made } = committed;
  if (!made) return;
  await GitRepository.with(root, async (repository) => {
    // Already reverted: a crash came before that was recorded.
    if ((await commitOf(repository, "HEAD")) === parent) return;
    await using lock = await IndexLock.take(repository);
    const changes = await changedFiles(repository, commit, parent);
    await moveHead(repository, checkedId(parent), checkedId(commit), "commit reverted");
    await lock.update(changes.map(entryAfter)).catch((error: unknown) => {
      throw withChanges(
        error,
        `The branch was moved back to ${parent}. The index is as it was: set it with \`git reset\`.`,
      );
    });
  });
}

/** Moves the branch that is checked out, or a detached HEAD, if it is still at `from`. */
export async function moveHead(repository: GitRepository, to: string, from: string, why: string): Promise<void> {
  const branch = await currentBranch(repository);
  const args = branch === undefined ? ["--no-deref", "-m", why, "HEAD"] : ["-m", why, branch];
  await repository.names(["update-ref", ...args, to, from === "" ? "0".repeat(to.length) : from]);
}

async function commitPaths(
  repository: GitRepository,
  files: WorkspaceFiles,
  paths: readonly string[],
  { message, author }: GitCommitRequest,
): Promise<GitCommitResult> {
  await assertNothingInProgress(repository);
  const parent = (await commitOf(repository, "HEAD")) ?? "";
  const indexFile = join(repository.scratch, "index");
  const environment = { GIT_INDEX_FILE: indexFile };
  await repository.objects(["read-tree", ...(parent === "" ? ["--empty"] : [parent])], { environment });
  const before = await idOf(repository, ["write-tree"], { environment });
  const entries = await entriesOf(repository, files, paths);
  await updateIndex(repository, indexFile, entries);
  const tree = await idOf(repository, ["write-tree"], { environment, keep: true });
  if (tree === before && parent !== "") return { commit: parent, parent, made: false };
  const args = ["commit-tree", tree, ...(parent === "" ? [] : ["-p", parent])];
  const commit = await idOf(repository, args, { environment: identityOf(author), input: message, keep: true });
  // Before the branch: after a crash, staged changes without a commit are harmless, but a commit with an old index would look undone.
  await using lock = await IndexLock.take(repository);
  await lock.update(entries);
  await moveHead(repository, commit, parent, "commit by an agent").catch((error: unknown) => {
    throw withChanges(error, "The files are staged, but not committed: HEAD is where it was.");
  });
  return { commit, parent, made: true };
}

/** An error of git or the file system with what has changed; an abort stays as it is. */
function withChanges(error: unknown, changed: string): unknown {
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
