import type { TaskStatus } from "./TaskStatus.ts";

/**
 * The possible next statuses of a task by its current status. A failed task is queued again only if it is recoverable.
 */
export const STATE_TRANSITIONS: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = Object.freeze({
  queued: Object.freeze(["in_progress", "cancelled"] as const),
  in_progress: Object.freeze(["paused", "waiting", "completed", "failed"] as const),
  paused: Object.freeze(["in_progress", "cancelled"] as const),
  waiting: Object.freeze(["in_progress", "cancelled", "failed"] as const),
  completed: Object.freeze([] as const),
  failed: Object.freeze(["queued"] as const),
  cancelled: Object.freeze([] as const),
});
