import { GitRepository } from "./GitRepository.ts";
import { checkedId, checkedRef } from "./refName.ts";

const defaultUpstream = "refs/remotes/origin/main";

/** The commit of a ref; `undefined` when there is no such ref. @throws GitError when the name cannot be that of a ref. */
export async function commitOf(repository: GitRepository, ref: string): Promise<string | undefined> {
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${checkedRef(ref)}^{commit}`];
  const { exitCode, output } = await repository.names(args, [0, 1, 128]);
  return exitCode === 0 ? checkedId(output.toString().trim()) : undefined;
}

/** The branch that is checked out, such as `refs/heads/main`; `undefined` when none is. */
export async function currentBranch(repository: GitRepository): Promise<string | undefined> {
  const { exitCode, output } = await repository.names(["symbolic-ref", "--quiet", "HEAD"], [0, 1]);
  return exitCode === 0 ? checkedRef(output.toString().trim()) : undefined;
}

/** The work tree in which a branch is checked out; empty: none. */
export function workTreeOf(repository: GitRepository, branch: string): Promise<string> {
  return refText(repository, "%(worktreepath)", checkedRef(branch));
}

/**
 * The upstream of the branch that is checked out, such as `refs/remotes/origin/next`. Without one, the default branch of
 * `origin`, as it was when the repository was cloned; else `origin/main` or `origin/master`.
 */
export async function upstreamOf(repository: GitRepository): Promise<string> {
  const branch = await currentBranch(repository);
  const own = branch === undefined ? "" : await refText(repository, "%(upstream)", branch);
  if (own !== "") return checkedRef(own);
  const defaultBranch = await refText(repository, "%(symref)", "refs/remotes/origin/HEAD");
  if (defaultBranch !== "") return checkedRef(defaultBranch);
  const master = "refs/remotes/origin/master";
  return (await commitOf(repository, defaultUpstream)) === undefined &&
    (await commitOf(repository, master)) !== undefined
    ? master
    : defaultUpstream;
}

async function refText(repository: GitRepository, format: string, ref: string): Promise<string> {
  const { output } = await repository.names(["for-each-ref", `--format=${format}`, "--", ref]);
  return output.toString().split("\n")[0] ?? "";
}

/** The number of commits in the history of `to` that are not in that of `from`. */
export async function commitsBetween(repository: GitRepository, from: string, to: string): Promise<number> {
  return Number(await repository.objectText(["rev-list", "--count", `${checkedId(from)}..${checkedId(to)}`]));
}

/** Whether `descendant` has `ancestor` in its history; also false when `ancestor` no longer exists. */
export async function isAncestor(repository: GitRepository, ancestor: string, descendant: string): Promise<boolean> {
  const args = ["merge-base", "--is-ancestor", checkedId(ancestor), checkedId(descendant)];
  return (await repository.objects(args, { expected: [0, 1, 128] })).exitCode === 0;
}

/** The last common commit; `undefined` when the histories have nothing in common. */
export async function mergeBase(repository: GitRepository, one: string, other: string): Promise<string | undefined> {
  const args = ["merge-base", checkedId(one), checkedId(other)];
  const { exitCode, output } = await repository.objects(args, { expected: [0, 1] });
  return exitCode === 0 ? checkedId(output.toString().split("\n")[0] ?? "") : undefined;
}

/** Whether the known history of a commit ends where a shallow clone was cut, so that it cannot be told what was before. */
export async function isCutOff(repository: GitRepository, commit: string): Promise<boolean> {
  const ends = new Set(await repository.shallowCommits());
  if (ends.size === 0) return false;
  const roots = await repository.objectText(["rev-list", "--max-parents=0", checkedId(commit)]);
  return roots.split("\n").some((root) => ends.has(root));
}

/** Whether a partial clone has not fetched all that some commits have and others have not. @param revisions such as `["--no-walk", head]`, checked. */
export async function lacksObjects(repository: GitRepository, revisions: readonly string[]): Promise<boolean> {
  const { exitCode, output } = await repository.objects(["rev-list", "--objects", "--missing=print", ...revisions], {
    expected: [0, 128],
  });
  return exitCode !== 0 || /^\?/m.test(output.toString("latin1"));
}

/** Whether a branch has merges of its own since a commit. */
export async function hasMerges(repository: GitRepository, base: string, head: string): Promise<boolean> {
  const range = `${checkedId(base)}..${checkedId(head)}`;
  return (await repository.objectText(["rev-list", "--merges", "--max-count=1", range])) !== "";
}

/** The messages of at most 20 commits from `from` to `to` that changed a file, newest first. */
export async function messagesAbout(
  repository: GitRepository,
  from: string,
  to: string,
  path: string,
): Promise<readonly string[]> {
  const range = `${checkedId(from)}..${checkedId(to)}`;
  const args = ["log", "--no-show-signature", "-z", "--max-count=20", "--format=%B", range];
  const messages = (await repository.objectText([...args, "--", `:(literal,top)${path}`])).split("\0");
  return messages.map((message) => message.trim()).filter((message) => message !== "");
}

/** The messages of the upstream's commits since the last common commit that changed a file, newest first. @throws GitError */
export function commitMessagesAbout(root: string, path: string, signal?: AbortSignal): Promise<readonly string[]> {
  const look = async (repository: GitRepository): Promise<readonly string[]> => {
    const head = await commitOf(repository, "HEAD");
    const upstream = await commitOf(repository, await upstreamOf(repository));
    if (head === undefined || upstream === undefined) return [];
    const base = await mergeBase(repository, head, upstream);
    return base === undefined ? [] : messagesAbout(repository, base, upstream, path);
  };
  return GitRepository.with(root, look, signal);
}
