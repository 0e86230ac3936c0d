import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { NewTask } from "../state/Task.ts";

/** The ids of the tasks that can be duplicates of a new task. */
export interface DuplicateIds {
  /** The id of the new task. */
  readonly taskId: string;
  /** The ids of tasks of the windows before and after. Empty without a window. */
  readonly nearby: readonly string[];
  /** The id of the log that a creator owns while it looks at all these tasks. `undefined` without a window. */
  readonly lock: string | undefined;
}

/**
 * Returns the ids of a task with a `deduplicationId`. Without a window, all duplicates have one id, so creating the task
 * exactly once needs no lock. With a window, the id contains its number, and a duplicate may have the id of the window
 * before or after.
 */
export function duplicateIds(
  { queue = "", deduplicationId = "", deduplicationWindowMs: windowMs }: NewTask,
  now: number,
  sha256: Sha256,
): DuplicateIds {
  const base = `once-${sha256.base64url(JSON.stringify([queue, deduplicationId]))}`;
  if (windowMs === undefined) return { taskId: base, nearby: [], lock: undefined };
  const window = Math.floor(now / windowMs);
  const id = (number: number) => `${base}-${number}`;
  return { taskId: id(window), nearby: [id(window - 1), id(window + 1)], lock: `lock-${base}` };
}
