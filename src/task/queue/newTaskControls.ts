import type { TaskControls } from "../../checkpoint/status/TaskControls.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { NewTask } from "../state/Task.ts";

/** Returns the stored controls of a new task, or `undefined` if it has none. */
export function newTaskControls(task: NewTask): TaskControls | undefined {
  const { queue, key, notBefore, expiresAt, retries = 0, retryDelayMs = 1_000, deduplicationId } = task;
  const controls: TaskControls = withoutUndefined({
    queue,
    key,
    notBefore: isoTime(notBefore),
    expiresAt: isoTime(expiresAt),
    retries: retries === 0 ? undefined : retries,
    retryDelayMs: retries === 0 ? undefined : retryDelayMs,
    deduplicationId,
  });
  return Object.keys(controls).length === 0 ? undefined : controls;
}

function isoTime(time: Date | string | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}
