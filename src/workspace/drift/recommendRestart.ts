import type { DriftSeverity } from "./driftSeverity.ts";

/** Begin the task again, or bring the changes together and go on. */
export type RestartAdvice = "restart" | "merge_and_continue";

/** Below this a task has so little to lose that a hard conflict is not worth settling. */
const littleProgress = 20;

/**
 * Whether a task should begin again after a drift.
 *
 * @param task.progress 0 to 100.
 * @param task.preference what the user wants; it wins.
 */
export function recommendRestart(task: {
  readonly progress: number;
  readonly severity: DriftSeverity;
  readonly preference?: RestartAdvice | undefined;
}): RestartAdvice {
  if (task.preference !== undefined) return task.preference;
  return task.progress < littleProgress && task.severity === "high" ? "restart" : "merge_and_continue";
}
