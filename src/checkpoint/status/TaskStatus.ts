/** The statuses of a task. An agent that is no task has the same ones except `queued`. */
export const TaskStatus = {
  /** Created, and not begun. */
  QUEUED: "queued",
  /** A run drives it, or was interrupted. */
  IN_PROGRESS: "in_progress",
  /** Stopped on purpose, until you resume it. */
  PAUSED: "paused",
  /** Needs something from outside: an answer, a call back, a decision. */
  WAITING: "waiting",
  COMPLETED: "completed",
  FAILED: "failed",
  CANCELLED: "cancelled",
} as const;

export type TaskStatus = (typeof TaskStatus)[keyof typeof TaskStatus];

/** What a waiting run waits for. */
export type WaitingFor = "user_input" | "external_api" | "human_approval";
