import type { FileReservation } from "./FileReservation.ts";
import type { WaitingFor } from "./TaskStatus.ts";

/** What is known of a task in each status. Times are ISO 8601. */
export interface StateData {
  queued: {
    taskId: string;
    createdAt: string;
    /** An integer; the higher one goes first. */
    priority: number;
    estimatedComplexity?: "low" | "medium" | "high";
    /** The input of its agent. */
    inputRequest: unknown;
    /** The files that it will read and write. Absent: none. */
    reserves?: readonly FileReservation[];
  };
  in_progress: {
    /** The path of the sub-agent that runs, or the name of the task while its own agent does. */
    currentAgent: string;
    /** The node that runs next. */
    currentStep: string;
    /** How many nodes have been completed. */
    iterationCount: number;
    startedAt: string;
    lastActivityAt: string;
    /** The id of the checkpoint that has the context; empty while there is none. */
    accumulatedContext: string;
  };
  paused: {
    pausedAt: string;
    pauseReason: string;
    resumeInstructions?: string;
    /** The id of the checkpoint at the pause; empty when there is none. */
    snapshot: string;
  };
  waiting: {
    waitingFor: WaitingFor;
    promptShownToUser: string;
    /** When the wait expires and the task fails. Absent: never. */
    timeoutAt?: string;
  };
  completed: {
    completedAt: string;
    finalOutput: unknown;
    /** Sorted paths of the files that differ from before the run, relative to the workspace. Empty without a workspace. */
    filesModified: readonly string[];
    /** The results of the worker's `verify`. */
    verificationResults: readonly unknown[];
  };
  failed: {
    failedAt: string;
    /** The name of the error. */
    errorType: string;
    errorMessage: string;
    stackTrace?: string;
    /** Whether it may be tried again. */
    recoverable: boolean;
    /** How often it has been tried again so far. */
    retryCount: number;
  };
  cancelled: {
    cancelledAt: string;
    reason?: string;
  };
}
