import type { StateData, Task, TaskStatus } from "agent-persistence/task";

const time = "2026-01-01T00:00:00.000Z";

/** Good data of each status, with every field. */
export const exampleData: StateData = {
  queued: {
    taskId: "t",
    createdAt: time,
    priority: 5,
    estimatedComplexity: "low",
    inputRequest: { file: "people.csv" },
    reserves: [{ path: "src/a.ts", operation: "write" }],
  },
  in_progress: {
    currentAgent: "import",
    currentStep: "callModel",
    iterationCount: 3,
    startedAt: time,
    lastActivityAt: time,
    accumulatedContext: "1-4",
  },
  paused: { pausedAt: time, pauseReason: "lunch", resumeInstructions: "after lunch", snapshot: "1-4" },
  waiting: { waitingFor: "user_input", promptShownToUser: "size?", timeoutAt: time },
  completed: { completedAt: time, finalOutput: "done", filesModified: ["a.ts"], verificationResults: [{ ok: true }] },
  failed: {
    failedAt: time,
    errorType: "RangeError",
    errorMessage: "out of range",
    stackTrace: "RangeError: out of range",
    recoverable: true,
    retryCount: 0,
  },
  cancelled: { cancelledAt: time, reason: "not needed" },
};

export function exampleTask(status: TaskStatus): Task {
  const { priority, inputRequest } = exampleData.queued;
  const asked = { taskId: "t", taskName: "import", priority, inputRequest };
  const times = { createdAt: time, updatedAt: time, cursor: `${time} t` };
  return { ...asked, status, ...times, data: exampleData[status] } as Task;
}
