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
    /** What its agent will be run with. */
    inputRequest: unknown;
    /** The files that it will read and write. Absent: none that it names. */
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
    /** When it fails if nothing came. Absent: never. */
    timeoutAt?: string;
  };
  completed: {
    completedAt: string;
    finalOutput: unknown;
    /**
     * Paths of the files that its workspace changed, created or deleted, and that are not as they were: relative to the
     * root, each once, sorted. Empty without a workspace.
     */
    filesModified: readonly string[];
    /** What the worker's `verify` gave. */
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
