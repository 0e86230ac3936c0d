import { AgentPersistenceError, quoted } from "./AgentPersistenceError.ts";

/** A worker's agent and the tasks use different storages. The stored state is unchanged. */
export class OtherStorageError extends AgentPersistenceError {
  override readonly code = "other_storage";

  constructor(
    readonly taskId: string,
    /** The name of the task, which selects its agent. */
    readonly taskName: string,
  ) {
    super(
      `Task ${quoted(taskId)} is not in the storage of the agent for ${quoted(taskName)}, ` +
        `because the agent and the TaskManager use different storages. Give both the same storage.`,
    );
  }
}

/** The storage has no task with this id. The stored state is unchanged. */
export class TaskNotFoundError extends AgentPersistenceError {
  override readonly code = "task_not_found";

  constructor(readonly taskId: string) {
    super(
      `The storage has no task ${quoted(taskId)}. ` +
        `An agent that ran without a task is not listed as a task. Create a task with tasks.create({ taskId, taskName, inputRequest }).`,
    );
  }
}

/** A worker started a task the maximum number of times, and the task made no progress. */
export class TooManyAttemptsError extends AgentPersistenceError {
  override readonly code = "too_many_attempts";

  constructor(
    readonly taskId: string,
    /** The number of attempts since the last progress. */
    readonly attempts: number,
  ) {
    super(
      `Task ${quoted(taskId)} started ${attempts} times at the same position, and its process crashed or was stopped each time. ` +
        `Fix the cause, then queue the task again with retry().`,
    );
  }
}

/** A task cannot change from its current status to the requested status. The stored state is unchanged. */
export class TransitionNotAllowedError extends AgentPersistenceError {
  override readonly code = "transition_not_allowed";

  constructor(
    readonly taskId: string,
    readonly from: string,
    readonly to: string,
    /** The statuses that the task may change to. Empty for a finished task. */
    readonly allowed: readonly string[],
  ) {
    const next = allowed.length > 0 ? `It may become ${allowed.join(" or ")}.` : "It is finished permanently.";
    const already = from === to ? `already ${from}` : `${from} and cannot become ${to}`;
    super(`Task ${quoted(taskId)} is ${already}. ${next}`);
  }
}

/** The storage has no schedule with this id. The stored state is unchanged. */
export class ScheduleNotFoundError extends AgentPersistenceError {
  override readonly code = "schedule_not_found";

  constructor(readonly scheduleId: string) {
    super(`The storage has no schedule ${quoted(scheduleId)}. Create it with tasks.schedule({ scheduleId, cron, … }).`);
  }
}
