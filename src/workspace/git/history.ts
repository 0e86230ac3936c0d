import type { GitRepository } from "./GitRepository.ts";
import { checkedId, checkedRef } from "./refName.ts";

const defaultUpstream = "refs/remotes/origin/main";

/** The commit that a name stands for; `undefined` when there is none. @throws GitError when it is no name of a ref. */
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

/** The upstream of the branch that is checked out, such as `refs/remotes/origin/next`; that of `main` when it has none. */
export async function upstreamOf(repository: GitRepository): Promise<string> {
  const branch = await currentBranch(repository);
  if (branch === undefined) return defaultUpstream;
  const { output } = await repository.names(["for-each-ref", "--format=%(upstream)", "--", branch]);
  const upstream = output.toString().split("\n")[0] ?? "";
  return upstream === "" ? defaultUpstream : checkedRef(upstream);
}

/** How many commits `to` has that `from` has not. */
export async function commitsBetween(repository: GitRepository, from: string, to: string): Promise<number> {
  const { output } = await repository.objects(["rev-list", "--count", `${checkedId(from)}..${checkedId(to)}`]);
  return Number(output.toString());
}

/** Whether `descendant` has `ancestor` in its history; false also when `ancestor` is not there any more. */
export async function isAncestor(repository: GitRepository, ancestor: string, descendant: string): Promise<boolean> {
  const args = ["merge-base", "--is-ancestor", checkedId(ancestor), checkedId(descendant)];
  return (await repository.objects(args, { expected: [0, 1, 128] })).exitCode === 0;
}

/** The last commit that both have; `undefined` when their histories have nothing in common. */
export async function mergeBase(repository: GitRepository, one: string, other: string): Promise<string | undefined> {
  const args = ["merge-base", checkedId(one), checkedId(other)];
  const { exitCode, output } = await repository.objects(args, { expected: [0, 1] });
  return exitCode === 0 ? checkedId(output.toString().split("\n")[0] ?? "") : undefined;
}

/** The messages of the commits from `from` to `to` that touched a file, newest first: what their authors wanted. */
export async function messagesAbout(
  repository: GitRepository,
  from: string,
  to: string,
  path: string,
): Promise<readonly string[]> {
  const range = `${checkedId(from)}..${checkedId(to)}`;
  const args = ["log", "--no-show-signature", "-z", "--max-count=20", "--format=%B", range, "--", literal(path)];
  const { output } = await repository.objects(args);
  return output
    .toString()
    .split("\0")
    .flatMap((message) => (message.trim() === "" ? [] : [message.trim()]));
}

/** A path as it is, not as a pattern. */
export function literal(path: string): string {
  return `:(literal,top)${path}`;
}
