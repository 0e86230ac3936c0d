import { GitRepository } from "./GitRepository.ts";
import { commitOf, mergeBase, messagesAbout, upstreamOf } from "./history.ts";

/**
 * The messages of the upstream's commits since the last common one that touched a file, newest first.
 *
 * @throws GitError
 */
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
