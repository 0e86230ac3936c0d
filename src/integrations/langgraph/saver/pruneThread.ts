import { lastCheckpoints, plannedForget } from "./plannedForget.ts";
import type { OwnedThread } from "./StoredThreads.ts";

/** Removes all but the last checkpoints. Finishes an earlier pruning that was interrupted. */
export async function pruneThread(
  thread: OwnedThread,
  keep: number,
): Promise<{ readonly bytes: number; readonly checkpoints: number }> {
  const forget = plannedForget(thread.state, lastCheckpoints(thread.state, keep));
  if (forget) thread.append([forget]);
  await thread.durable();
  return { ...(await thread.prune()), checkpoints: forget?.drop.length ?? 0 };
}
