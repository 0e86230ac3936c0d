import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { NewTask } from "./Task.ts";

/** The ids of the tasks that can be duplicates of a new task. */
export interface DuplicateIds {
  /** The id of the new task. */
  readonly taskId: string;
  /** The ids of tasks of the windows before and after. Empty without a window. */
  readonly nearby: readonly string[];
}

/**
 * Returns the ids that a task with a `deduplicationId` can have. Without a window, all duplicates have one id, so no
 * lock is needed to create the task exactly once. With a window, the id contains the number of the window, and a
 * duplicate may have the id of the previous or the next window.
 */
export function duplicateIds(task: NewTask, now: number, sha256: Sha256): DuplicateIds {
  const { deduplicationWindowMs: windowMs } = task;
  const base = baseOf(task, sha256);
  if (windowMs === undefined) return { taskId: base, nearby: [] };
  const window = Math.floor(now / windowMs);
  const id = (number: number) => `${base}-${number}`;
  return { taskId: id(window), nearby: [id(window - 1), id(window + 1)] };
}

/** Returns the id of the log that a creator owns while it looks for duplicates in several windows. */
export function duplicateLock(task: NewTask, sha256: Sha256): string {
  return `lock-${baseOf(task, sha256)}`;
}

function baseOf({ queue = "", deduplicationId = "" }: NewTask, sha256: Sha256): string {
  return `once-${sha256.base64url(JSON.stringify([queue, deduplicationId]))}`;
}
