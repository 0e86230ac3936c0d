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

/** What a waiting run needs. `timer`: the time when the run continues by itself. `event`: an event from `send()`. */
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

/** The data of a task in each status. Times are in ISO 8601. */
export interface StateData {
  queued: {
    taskId: string;
    createdAt: string;
    /** An integer. Higher priorities run first. */
    priority: number;
    estimatedComplexity?: "low" | "medium" | "high";
    inputRequest: unknown;
    reserves?: readonly FileReservation[];
  };
  in_progress: {
    /** The path of the running subgraph, or the name of the task outside of subgraphs. */
    currentAgent: string;
    currentStep: string;
    iterationCount: number;
    startedAt: string;
    lastActivityAt: string;
    /** The id of the latest checkpoint. Empty without a checkpoint. */
    accumulatedContext: string;
  };
  paused: {
    pausedAt: string;
    pauseReason: string;
    resumeInstructions?: string;
    /** The id of the checkpoint at the pause. Empty without a checkpoint. */
    snapshot: string;
  };
  waiting: {
    waitingFor: WaitingFor;
    promptShownToUser: string;
    timeoutAt?: string;
  };
  completed: {
    completedAt: string;
    finalOutput: unknown;
    /** Sorted paths, in the workspace, of files that the run has changed. Empty without a workspace. */
    filesModified: readonly string[];
    /** The results of the worker's `verify`. */
    verificationResults: readonly unknown[];
  };
  failed: {
    failedAt: string;
    errorType: string;
    errorMessage: string;
    stackTrace?: string;
    recoverable: boolean;
    retryCount: number;
    /** The time at which a worker retries the task. Omitted if the task is not retried. */
    retryAt?: string;
  };
  cancelled: {
    cancelledAt: string;
    reason?: string;
  };
}

/** A file that a task will read or write. */
export interface FileReservation {
  /** Absolute, or relative to the root of the reservations. */
  readonly path: string;
  /** A file can have many concurrent readers, or one writer. */
  readonly operation: "read" | "write";
}
