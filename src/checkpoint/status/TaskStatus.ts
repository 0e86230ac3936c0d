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

/** The kind of input that a waiting run needs, or `timer` if it continues by itself at a certain time. */
export type WaitingFor = "user_input" | "external_api" | "human_approval" | "timer";
