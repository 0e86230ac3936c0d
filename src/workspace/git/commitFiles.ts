import { join } from "node:path";
import { z } from "zod";
import { reasonOf } from "../../internal/reasonOf.ts";
import { GitError } from "../../errors/workspaceErrors.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { abortSignalSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { foldersAbove, relativePath } from "../files/relativePath.ts";
import { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { entriesOf, submodule, updateIndex, type IndexEntry, indexEntries } from "./gitChanges.ts";
import { GitRepository, assertNothingInProgress } from "./GitRepository.ts";
import { IndexLock } from "./IndexLock.ts";
import { commitOf, currentBranch, isAncestor } from "./history.ts";
import { checkedId } from "./refName.ts";

/** The author of a commit. */
export interface CommitAuthor {
  readonly name: string;
  readonly email: string;
}

/** A commit request. Messages and names must not be empty. */
export interface GitCommitRequest {
  readonly message: string;
  /** Files to commit as they are in the work tree, relative to its root. A missing file is removed. */
  readonly paths: readonly string[];
  readonly author: CommitAuthor;
  /** Aborts the call before its first change of the index. The call then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

/** The result of a commit. */
export interface GitCommitResult {
  /** The current commit after the call. */
  readonly commit: string;
  /** The previous commit. Empty for the first commit. */
  readonly parent: string;
  /** `false` if HEAD already contained these files and no commit was made. */
  readonly made: boolean;
  /** The branch, such as `refs/heads/main`, or "" for a detached HEAD. Omitted without a commit or in old results. */
  readonly branch?: string | undefined;
}

export const authorSchema: z.ZodType<CommitAuthor> = strictOptions(() => ({ name: nonEmptyString, email: z.string() }));

const requestShape = { message: nonEmptyString, paths: z.array(z.string()), author: authorSchema };

/** The schema of a request in a run, which provides the signal. */
export const commitInRunSchema: z.ZodType = strictOptions(() => requestShape);

const commitSchema = z.object({
  root: nonEmptyString,
  request: strictOptions(() => ({ ...requestShape, signal: abortSignalSchema.optional() })),
});

const maximumFileBytes = 64 * 1024 * 1024;

/**
 * Commits files on the current branch with their exact bytes. Runs no hooks or filters, and does not sign. Other staged
 * changes stay staged. Commits nothing if HEAD moves during the call, if a merge, rebase, cherry-pick or revert is in
 * progress, or if the index has unmerged files. Rejects files of submodules and files that a sparse checkout or
 * `skip-worktree` excludes.
 *
 * @throws InvalidInputError, GitError, PathNotAllowedError, FileAccessError
 */
export async function commitFiles(root: string, request: GitCommitRequest): Promise<GitCommitResult> {
  checkSchema(commitSchema, { root, request }, "commit");
  return commitRecorded(root, request, { earlier: [], note: () => Promise.resolve() });
}

/** The record of the commits of one tool call. */
export interface CommitRecord {
  /** The commits that the call may have made before a crash. */
  readonly earlier: readonly GitCommitResult[];
  /** Called before the branch moves to a new commit. */
  readonly note: (result: GitCommitResult) => Promise<void>;
}

/** Like {@link commitFiles}. If the branch already contains an earlier commit of the record, returns that commit. */
export async function commitRecorded(
  root: string,
  request: GitCommitRequest,
  { earlier, note }: CommitRecord,
): Promise<GitCommitResult> {
  const paths = request.paths.map((path) => relativePath(path));
  const commit = async (repository: GitRepository): Promise<GitCommitResult> => {
    for (const result of earlier) {
      const head = await commitOf(repository, result.branch || "HEAD");
      if (head !== undefined && (await isAncestor(repository, result.commit, head))) return result;
    }
    const inRepository = paths.map((path) => `${repository.prefix}${path}`);
    const files = new WorkspaceFiles(repository.root, maximumFileBytes);
    return commitPaths(repository, files, inRepository, { ...request, note });
  };
  return GitRepository.with(root, commit, request.signal);
}

/** Moves the current branch, or a detached HEAD, from `from`. @returns the branch, or an empty string */
export async function moveHead(repository: GitRepository, move: RefMove): Promise<string> {
  const branch = (await currentBranch(repository)) ?? "";
  await moveRef(repository, branch, move);
  return branch;
}

/** A move between two commits. An empty `from` requires that no commit exists. */
interface RefMove {
  readonly from: string;
  readonly to: string;
  readonly why: string;
}

/** Moves a branch if it is still at `from`. `branch` is empty for a detached HEAD. */
export async function moveRef(repository: GitRepository, branch: string, { from, to, why }: RefMove): Promise<void> {
  await repository.assertWritable(branch === "" ? undefined : branch);
  const args = branch === "" ? ["--no-deref", "-m", why, "HEAD"] : ["-m", why, branch];
  await repository.setRef(["update-ref", ...args, to, from === "" ? repository.nullId : from]);
}

async function commitPaths(
  repository: GitRepository,
  files: WorkspaceFiles,
  paths: readonly string[],
  { message, author, note }: GitCommitRequest & Pick<CommitRecord, "note">,
): Promise<GitCommitResult> {
  const current = await currentBranch(repository);
  await repository.assertWritable(current);
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
  await note({ commit, parent, made: true, branch: current ?? "" });
  repository.startChange();
  // The index is written before the branch. After a crash, staged changes without a commit are harmless. A commit with
  // an old index would look like an undo.
  await using lock = await IndexLock.take(repository);
  await lock.update(entries);
  const move = { from: parent, to: commit, why: "commit by an agent" };
  const branch = await moveHead(repository, move).catch((error: unknown) => {
    throw withChanges(error, "The files are staged, but not committed: HEAD is where it was.");
  });
  return { commit, parent, made: true, branch };
}

/** @throws GitError unless the files belong to this work tree */
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

/** Adds the completed changes to an error of git or the file system. An abort reason is returned unchanged. */
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
