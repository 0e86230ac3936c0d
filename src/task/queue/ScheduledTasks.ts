import { AgentCopiedError, AgentMovedError, InvalidAgentIdError, InvalidInputError } from "../../errors/agentErrors.ts";
import { CheckpointTooLargeError } from "../../errors/checkpointErrors.ts";
import { KeyMissingError } from "../../errors/encryptionErrors.ts";
import { StorageError } from "../../errors/storageErrors.ts";
import { CorruptLogError, NotSerializableError, UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { TaskNotFoundError, TransitionNotAllowedError } from "../../errors/taskErrors.ts";
import { custodyError } from "../../journal/assertCustody.ts";
import { isOwned } from "../../storage/summaries.ts";
import type { NewTask, Task } from "../state/Task.ts";
import { retryAt } from "../../checkpoint/state/StatusState.ts";
import { isUnreadable } from "./claimableTasks.ts";
import type { TaskCreator } from "./TaskCreator.ts";
import type { TaskLogs } from "./TaskLogs.ts";
import type { InterruptTaskOptions } from "./TaskManagerOptions.ts";

/** How long a tick waits for the end of the task that the tick cancels. After this time, the next poll tries again. */
const cancelTimeoutMs = 1_000;

interface CancelsTasks {
  cancel(taskId: string, reason: string, options: InterruptTaskOptions): Promise<unknown>;
}

export class ScheduledTasks {
  readonly #logs: TaskLogs;
  readonly #creator: TaskCreator;
  readonly #tasks: CancelsTasks;

  constructor(logs: TaskLogs, creator: TaskCreator, tasks: CancelsTasks) {
    this.#logs = logs;
    this.#creator = creator;
    this.#tasks = tasks;
  }

  /** @throws InvalidInputError, NotSerializableError, CheckpointTooLargeError */
  check(task: NewTask, subject: string): void {
    this.#creator.check(task, subject);
  }

  async create(task: NewTask): Promise<Task> {
    return this.#creator.create(this.#creator.check(task));
  }

  /** Returns whether a task runs or will run here. `false` for an unreadable task and a task of another storage. */
  async isUnfinished(taskId: string | undefined): Promise<boolean> {
    if (taskId === undefined) return false;
    try {
      const life = await this.#logs.life(taskId);
      const { current, task } = life;
      if (!task || !current || custodyError(taskId, life)) return false;
      if (current.status === "failed") return retryAt(life) !== undefined;
      return current.status !== "completed" && current.status !== "cancelled";
    } catch (error) {
      if (!isDamaged(error)) throw error;
      return isOwned(this.#logs.log, taskId);
    }
  }

  /** Cancels a task for a newer tick of its schedule. Does nothing if the task no longer runs here. */
  async cancel(taskId: string, scheduleId: string): Promise<void> {
    const reason = `A newer tick of the schedule ${JSON.stringify(scheduleId)} is due.`;
    try {
      await this.#tasks.cancel(taskId, reason, { timeoutMs: cancelTimeoutMs });
    } catch (error) {
      if (!endedKinds.some((kind) => error instanceof kind) && !isDamaged(error)) throw error;
    }
  }
}

const endedKinds = [TransitionNotAllowedError, TaskNotFoundError, AgentMovedError, AgentCopiedError];

/** Returns whether no process can read a task: its log is damaged, or its data key was destroyed. */
function isDamaged(error: unknown): boolean {
  if (error instanceof KeyMissingError) return error.keyId === undefined;
  return error instanceof CorruptLogError || error instanceof UnreadableValueError;
}

const refusals = [InvalidInputError, InvalidAgentIdError, NotSerializableError, CheckpointTooLargeError];

/** Returns whether another attempt to create a task would fail as well. */
export function isTaskRefused(error: unknown): boolean {
  if (error instanceof StorageError) return false;
  return refusals.some((kind) => error instanceof kind) || isUnreadable(error);
}
