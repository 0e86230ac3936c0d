/** Fields of the data of a status, as the library names them, and as other tools read them in `state.json`. */
const keys = {
  taskId: "task_id",
  createdAt: "created_at",
  estimatedComplexity: "estimated_complexity",
  inputRequest: "input_request",
  startedAt: "started_at",
  pausedAt: "paused_at",
  pauseReason: "pause_reason",
  resumeInstructions: "resume_instructions",
  waitingFor: "waiting_for",
  promptShownToUser: "prompt_shown_to_user",
  timeoutAt: "timeout_at",
  completedAt: "completed_at",
  finalOutput: "final_output",
  filesModified: "files_modified",
  verificationResults: "verification_results",
  failedAt: "failed_at",
  errorType: "error_type",
  errorMessage: "error_message",
  stackTrace: "stack_trace",
  retryCount: "retry_count",
  cancelledAt: "cancelled_at",
};
const stored: ReadonlyMap<string, string> = new Map(Object.entries(keys));
const named: ReadonlyMap<string, string> = new Map(Object.entries(keys).map(([name, key]) => [key, name]));

/** The data of a status under the keys of `state.json`. What is in the fields stays as it is. */
export function storedStateData(data: unknown): unknown {
  return renamed(data, stored);
}

/** The data that {@link storedStateData} was given. */
export function namedStateData(data: unknown): unknown {
  return renamed(data, named);
}

function renamed(data: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof data !== "object" || data === null || Array.isArray(data)) return data;
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [names.get(key) ?? key, value]));
}
