import { GitRepository } from "./GitRepository.ts";
import { checkedId, checkedRef } from "./refName.ts";

const defaultUpstream = "refs/remotes/origin/main";

/** Returns the commit of a ref, or `undefined` if the ref does not exist. @throws GitError for an invalid ref name */
export async function commitOf(repository: GitRepository, ref: string): Promise<string | undefined> {
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${checkedRef(ref)}^{commit}`];
  const { exitCode, output } = await repository.names(args, [0, 1, 128]);
  return exitCode === 0 ? checkedId(output.toString().trim()) : undefined;
}

/** Returns the current branch, such as `refs/heads/main`, or `undefined` for a detached HEAD. */
export async function currentBranch(repository: GitRepository): Promise<string | undefined> {
  const { exitCode, output } = await repository.names(["symbolic-ref", "--quiet", "HEAD"], [0, 1]);
  return exitCode === 0 ? checkedRef(output.toString().trim()) : undefined;
}

/** Returns the work tree in which a branch is checked out, or an empty string. */
export function workTreeOf(repository: GitRepository, branch: string): Promise<string> {
  return refText(repository, "%(worktreepath)", checkedRef(branch));
}

/**
 * Returns the upstream of the current branch, such as `refs/remotes/origin/next`. Without one, returns the default
 * branch of `origin` at the time of the clone, else `origin/main` or `origin/master`.
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

export async function commitsBetween(repository: GitRepository, from: string, to: string): Promise<number> {
  return Number(await repository.objectText(["rev-list", "--count", `${checkedId(from)}..${checkedId(to)}`]));
}

/** Returns whether the history of `descendant` contains `ancestor`. `false` if `ancestor` no longer exists. */
export async function isAncestor(repository: GitRepository, ancestor: string, descendant: string): Promise<boolean> {
  const args = ["merge-base", "--is-ancestor", checkedId(ancestor), checkedId(descendant)];
  return (await repository.objects(args, { expected: [0, 1, 128] })).exitCode === 0;
}

/** Returns the last common commit, or `undefined` for unrelated histories. */
export async function mergeBase(repository: GitRepository, one: string, other: string): Promise<string | undefined> {
  const args = ["merge-base", checkedId(one), checkedId(other)];
  const { exitCode, output } = await repository.objects(args, { expected: [0, 1] });
  return exitCode === 0 ? checkedId(output.toString().split("\n")[0] ?? "") : undefined;
}

/** Returns whether the known history of a commit ends at the boundary of a shallow clone. */
export async function isCutOff(repository: GitRepository, commit: string): Promise<boolean> {
  const ends = new Set(await repository.shallowCommits());
  if (ends.size === 0) return false;
  const roots = await repository.objectText(["rev-list", "--max-parents=0", checkedId(commit)]);
  return roots.split("\n").some((root) => ends.has(root));
}

/** Returns whether a partial clone lacks objects. `revisions` are checked, such as `["--no-walk", head]`. */
export async function lacksObjects(repository: GitRepository, revisions: readonly string[]): Promise<boolean> {
  const { exitCode, output } = await repository.objects(["rev-list", "--objects", "--missing=print", ...revisions], {
    expected: [0, 128],
  });
  return exitCode !== 0 || /^\?/m.test(output.toString("latin1"));
}

export async function hasMerges(repository: GitRepository, base: string, head: string): Promise<boolean> {
  const range = `${checkedId(base)}..${checkedId(head)}`;
  return (await repository.objectText(["rev-list", "--merges", "--max-count=1", range])) !== "";
}

/** Returns the messages of up to 20 commits from `from` to `to` that changed a file, newest first. */
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

/** Returns the messages of upstream commits that changed a file, newest first. @throws GitError */
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
