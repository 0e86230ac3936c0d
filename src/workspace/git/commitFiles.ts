import { join } from "node:path";
import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { abortSignalSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { relativePath } from "../files/relativePath.ts";
import { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import { changedFiles } from "./changes.ts";
import { GitRepository } from "./GitRepository.ts";
import { commitOf, currentBranch } from "./history.ts";
import { checkedId, commitIdSchema, parentIdSchema } from "./refName.ts";
import { entriesOf, entryAfter, updateIndex } from "./treeEntries.ts";

/** Whose name a commit bears. */
export interface CommitAuthor {
  readonly name: string;
  readonly email: string;
}

/** What to commit. */
export interface CommitRequest {
  readonly message: string;
  /** The files to take as they are in the work tree, relative to its root; one that is not there is removed. */
  readonly paths: readonly string[];
  readonly author: CommitAuthor;
  readonly signal?: AbortSignal | undefined;
}

/** What a commit came to. */
export interface CommittedFiles {
  /** The commit that is checked out now. */
  readonly commit: string;
  /** The one before it; empty when it is the first. */
  readonly parent: string;
  /** False when the files were in HEAD as they are: no commit was made. */
  readonly made: boolean;
}

/** What {@link CommitAuthor} must be. */
export const authorSchema: z.ZodType<CommitAuthor> = strictOptions({ name: nonEmptyString, email: z.string() });

const requestShape = { message: nonEmptyString, paths: z.array(z.string()), author: authorSchema };

/** What a commit in a run is asked for: the run itself gives the signal. */
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
 * Commits files on the branch that is checked out, their bytes as they are: no hook and no filter runs, and nothing is
 * signed. What is staged beside them stays staged. If HEAD moves meanwhile, nothing is committed.
 *
 * @throws GitError, PathNotAllowedError, FileAccessError
 */
export async function commitFiles(root: string, request: CommitRequest): Promise<CommittedFiles> {
  checkSchema(commitSchema, { root, request }, "commit");
  const files = new WorkspaceFiles(root, maximumFileBytes);
  const paths = request.paths.map((path) => relativePath(path));
  return GitRepository.with(root, (repository) => commitPaths(repository, files, paths, request), request.signal);
}

/**
 * Takes a commit back: the branch goes to its parent, if nobody has committed since. The files stay as they are, and so
 * does what else is staged.
 *
 * @throws GitError when the branch has gone on, or the commit has no parent.
 */
export async function revertCommit(root: string, committed: CommittedFiles): Promise<void> {
  checkSchema(revertSchema, { root, committed }, "commit to revert");
  const { commit, parent, made } = committed;
  if (!made) return;
  await GitRepository.with(root, async (repository) => {
    // Taken back already: a crash came before that was noted.
    if ((await commitOf(repository, "HEAD")) === parent) return;
    await moveHead(repository, checkedId(parent), checkedId(commit), "commit taken back");
    const changes = await changedFiles(repository, commit, parent);
    await updateIndex(repository, repository.indexFile, changes.map(entryAfter));
  });
}

/** Sets the branch that is checked out, or HEAD without one, if it still is where it was. */
export async function moveHead(repository: GitRepository, to: string, from: string, why: string): Promise<void> {
  const branch = await currentBranch(repository);
  const args = branch === undefined ? ["--no-deref", "-m", why, "HEAD"] : ["-m", why, branch];
  await repository.names(["update-ref", ...args, to, from === "" ? "0".repeat(to.length) : from]);
}

async function commitPaths(
  repository: GitRepository,
  files: WorkspaceFiles,
  paths: readonly string[],
  { message, author }: CommitRequest,
): Promise<CommittedFiles> {
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
  // Before the branch: what is staged and not committed is seen and harmless, the other way about it would undo the commit.
  await updateIndex(repository, repository.indexFile, entries);
  await moveHead(repository, commit, parent, "commit by an agent");
  return { commit, parent, made: true };
}

async function idOf(
  repository: GitRepository,
  args: readonly string[],
  options: Parameters<GitRepository["objects"]>[1],
): Promise<string> {
  return checkedId((await repository.objects(args, options)).output.toString().trim());
}

/** What git takes the names on a commit from. */
export function identityOf({ name, email }: CommitAuthor): Readonly<Record<string, string>> {
  return { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email };
}
