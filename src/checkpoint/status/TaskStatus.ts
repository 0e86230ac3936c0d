/** What a task can be. A plain agent has the same statuses but `queued`. */
export const TaskStatus = {
  /** Created, and not begun. */
  QUEUED: "queued",
  /** A run drives it, or was cut short. */
  IN_PROGRESS: "in_progress",
  /** Stopped on purpose, until somebody resumes it. */
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
