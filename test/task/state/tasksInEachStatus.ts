import type { Task, TaskManager, TaskStatus } from "agent-persistence/task";
import { expect } from "vitest";

const time = "2026-01-01T00:00:00.000Z";

/** The calls that bring a new task to each status. */
export const wayTo: Readonly<Record<TaskStatus, (tasks: TaskManager, id: string) => Promise<unknown>>> = {
  queued: async () => {},
  in_progress: (tasks, id) => tasks.start(id),
  paused: async (tasks, id) => {
    await tasks.start(id);
    await tasks.pause(id, "lunch", { resumeInstructions: "after lunch" });
  },
  waiting: async (tasks, id) => {
    await tasks.start(id);
    await tasks.wait(id, { waitingFor: "external_api", promptShownToUser: "called back?", timeoutAt: time });
  },
  completed: async (tasks, id) => {
    await tasks.start(id);
    await tasks.complete(id, { output: new Map([["a", 1]]), verificationResults: [{ ok: true }] });
  },
  failed: async (tasks, id) => {
    await tasks.start(id);
    await tasks.fail(id, new RangeError("out of range"));
  },
  cancelled: (tasks, id) => tasks.cancel(id, "not needed"),
};

/** The call for each move. */
export const moveTo: Readonly<Record<TaskStatus, (tasks: TaskManager, id: string) => Promise<Task>>> = {
  queued: (tasks, id) => tasks.retry(id),
  in_progress: (tasks, id) => tasks.resume(id),
  paused: (tasks, id) => tasks.pause(id, "?"),
  waiting: (tasks, id) => tasks.wait(id, { waitingFor: "user_input", promptShownToUser: "?" }),
  completed: (tasks, id) => tasks.complete(id, { output: 1 }),
  failed: (tasks, id) => tasks.fail(id, "?"),
  cancelled: (tasks, id) => tasks.cancel(id),
};

/** The data that a task has in each status, after its way there by a clock that stands still. */
export const expectedData: Readonly<Record<TaskStatus, object>> = {
  queued: { taskId: "t", createdAt: time, priority: 0, inputRequest: { file: "a.csv", since: new Date(0) } },
  in_progress: {
    currentAgent: "import",
    currentStep: "start",
    iterationCount: 0,
    startedAt: time,
    lastActivityAt: time,
    accumulatedContext: "",
  },
  paused: { pausedAt: time, pauseReason: "lunch", resumeInstructions: "after lunch", snapshot: "" },
  waiting: { waitingFor: "external_api", promptShownToUser: "called back?", timeoutAt: time },
  completed: {
    completedAt: time,
    finalOutput: new Map([["a", 1]]),
    filesModified: [],
    verificationResults: [{ ok: true }],
  },
  failed: {
    failedAt: time,
    errorType: "RangeError",
    errorMessage: "out of range",
    stackTrace: expect.stringContaining("out of range") as string,
    recoverable: true,
    retryCount: 0,
  },
  cancelled: { cancelledAt: time, reason: "not needed" },
};
