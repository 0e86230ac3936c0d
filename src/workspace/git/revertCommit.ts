import { z } from "zod";
import { GitError } from "../../errors/workspaceErrors.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { foldersAbove } from "../files/relativePath.ts";
import { type GitChange, gitChanges, entryAfter, type TreeEntry, type IndexEntry, indexEntries } from "./gitChanges.ts";
import { type GitCommitResult, moveRef, withChanges } from "./commitFiles.ts";
import { GitRepository, assertNothingInProgress } from "./GitRepository.ts";
import { commitOf, currentBranch, workTreeOf } from "./history.ts";
import { IndexLock } from "./IndexLock.ts";
import { branchSchema, checkedId, commitIdSchema, parentIdSchema } from "./refName.ts";

const revertSchema = z.object({
  root: nonEmptyString,
  committed: z.object({
    commit: commitIdSchema,
    parent: parentIdSchema,
    made: z.boolean(),
    branch: branchSchema.optional(),
  }),
});

/**
 * Moves the branch of a commit back to the parent, if the commit is still the newest. Keeps all files and everything
 * that others staged, including other versions of the same files. If another branch is checked out, HEAD and the index
 * do not change. Repeating the call has no effect.
 *
 * @throws InvalidInputError
 * @throws GitError if the branch has newer commits, no longer exists, or is checked out in another work tree. Also
 * thrown if the commit has no parent, if it was made on a detached HEAD that has moved, or if a merge, rebase,
 * cherry-pick or revert is in progress. The repository is then unchanged.
 */
export async function revertCommit(root: string, committed: GitCommitResult): Promise<void> {
  checkSchema(revertSchema, { root, committed }, "commit to revert");
  if (!committed.made) return;
  await GitRepository.with(root, async (repository) => {
    const current = (await currentBranch(repository)) ?? "";
    const at = committed.branch ?? current;
    // After a crash, the branch may be back at the parent without a record and without a change of the index.
    const isBack = (await commitOf(repository, at || "HEAD")) === committed.parent;
    if (isBack && at !== current) return;
    await using lock = await IndexLock.take(repository);
    await assertNothingInProgress(repository, "revert");
    if (!isBack) await assertNewest(repository, committed, at);
    if (at === current) return await revertHere(repository, lock, committed, isBack ? undefined : at);
    await assertElsewhere(repository, at);
    await moveBack(repository, committed, at);
  });
}

/** @param branch the branch to move. `undefined` if only the index is reverted. */
async function revertHere(
  repository: GitRepository,
  lock: IndexLock,
  committed: GitCommitResult,
  branch: string | undefined,
): Promise<void> {
  const changes = await gitChanges(repository, committed.commit, checkedId(committed.parent));
  const entries = entriesBefore(changes, await indexEntries(repository));
  if (branch === undefined) return entries.length > 0 ? lock.update(entries) : undefined;
  await lock.prepare(entries);
  await moveBack(repository, committed, branch);
  await lock.put().catch((error: unknown) => {
    const { parent } = committed;
    throw withChanges(
      error,
      `The branch was moved back to ${parent}. The index is as it was: set it with \`git reset\`.`,
    );
  });
}

function moveBack(repository: GitRepository, { commit, parent }: GitCommitResult, branch: string): Promise<void> {
  return moveRef(repository, branch, { to: checkedId(parent), from: commit, why: "commit reverted" });
}

/** @throws GitError */
async function assertNewest(repository: GitRepository, { commit }: GitCommitResult, branch: string): Promise<void> {
  const found = await commitOf(repository, branch || "HEAD");
  if (found === commit) return;
  if (found === undefined) throw new GitError("revert", `${branch} no longer exists`);
  throw new GitError("revert", `${commit} is no longer the newest commit of ${branch || "HEAD"}, which is at ${found}`);
}

/** @throws GitError */
async function assertElsewhere(repository: GitRepository, branch: string): Promise<void> {
  if (branch === "") throw new GitError("revert", "HEAD was detached when the commit was made, and is not now");
  const workTree = await workTreeOf(repository, branch);
  if (workTree !== "")
    throw new GitError("revert", `${branch} is checked out in another work tree, ${JSON.stringify(workTree)}`);
}

/**
 * For each index entry that equals the entry of the commit, returns the entry of the parent. Keeps the entries of
 * others, and omits entries of the parent in their place. `changes` lead from the commit to its parent.
 */
function entriesBefore(changes: readonly GitChange[], index: readonly IndexEntry[]): readonly TreeEntry[] {
  const found = new Map(index.map((entry) => [entry.path, entry]));
  const own = new Map(changes.filter((change) => isAsCommitted(found.get(change.path), change)).map(byPath));
  const others = [...found.keys()].filter((path) => !own.has(path));
  const taken = new Set(others);
  const folders = new Set(others.flatMap(foldersAbove));
  const hasRoom = (path: string) => !folders.has(path) && !foldersAbove(path).some((above) => taken.has(above));
  return [...own.values()].filter(({ path, after }) => after === undefined || hasRoom(path)).map(entryAfter);
}

function byPath(change: GitChange): readonly [string, GitChange] {
  return [change.path, change];
}

function isAsCommitted(entry: IndexEntry | undefined, { before, modeBefore }: GitChange): boolean {
  return entry?.id === before && (entry === undefined || entry.mode === modeBefore);
}
