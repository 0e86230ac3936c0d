/** The statuses of a task. An agent without a task has the same statuses except `queued`. */
export const TaskStatus = {
  /** Created, but not started. */
  QUEUED: "queued",
  /** Running, or interrupted by a crash. */
  IN_PROGRESS: "in_progress",
  /** Stopped on purpose until it is resumed. */
  PAUSED: "paused",
  /** Waits for external input: an answer, a callback, or a decision. */
  WAITING: "waiting",
  COMPLETED: "completed",
  FAILED: "failed",
  CANCELLED: "cancelled",
} as const;

export type TaskStatus = (typeof TaskStatus)[keyof typeof TaskStatus];

/** What a waiting run needs. `timer` if it continues by itself at a time, `event` if it waits for `send()`. */
export type WaitingFor = "user_input" | "external_api" | "human_approval" | "timer" | "event";

/** The possible next statuses of a task. A failed task is queued again only if it is recoverable. */
export const STATE_TRANSITIONS: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = Object.freeze({
  queued: Object.freeze(["in_progress", "cancelled"] as const),
  in_progress: Object.freeze(["paused", "waiting", "completed", "failed"] as const),
  paused: Object.freeze(["in_progress", "cancelled"] as const),
  waiting: Object.freeze(["in_progress", "cancelled", "failed"] as const),
  completed: Object.freeze([] as const),
  failed: Object.freeze(["queued"] as const),
  cancelled: Object.freeze([] as const),
});
