import { checkSchema } from "../internal/options/checkSchema.ts";
import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import type { StatusRecord, TaskRecord } from "../checkpoint/records/runRecords.ts";
import { statusRecords } from "../checkpoint/state/statusRecords.ts";
import type { StateData } from "../checkpoint/status/StateData.ts";
import type { TaskStatus } from "../checkpoint/status/TaskStatus.ts";
import { TaskExistsError } from "../errors/task/TaskExistsError.ts";
import { TaskNotFoundError } from "../errors/task/TaskNotFoundError.ts";
import type { Clock } from "../internal/Clock.ts";
import { randomId } from "../internal/randomId.ts";
import type { Journal } from "../journal/Journal.ts";
import { changedFiles } from "../persistence/run/completionData.ts";
import { endRecords, type RunEnd } from "../persistence/run/endRecords.ts";
import { stopAndOpen } from "../persistence/run/openWithRetry.ts";
import { describeError } from "../persistence/run/recordFailure.ts";
import { runRecord } from "../persistence/record/startRecorder.ts";
import { isResumable } from "./isResumable.ts";
import { isUnreadable } from "./stored/isUnreadable.ts";
import { applyTransition } from "./stored/applyTransition.ts";
import { newTaskSchema, type NewTask } from "./NewTask.ts";
import { readTask } from "./stored/readTask.ts";
import { claimableTasks, type ClaimableTask } from "./worker/claimableTasks.ts";
import { storedTask, taskOfSummary } from "./stored/storedTask.ts";
import type { Task, TaskWithStatus } from "./Task.ts";
import { TaskLogs } from "./stored/TaskLogs.ts";
import { taskManagerSchemas } from "./taskManagerSchemas.ts";
import type { InterruptTaskOptions, PauseTaskOptions, TaskFilter, TaskManagerOptions } from "./TaskManagerOptions.ts";

const defaultStopTimeoutMs = 30_000;

/** How the run of a task is stopped. */
type StopOptions = Parameters<typeof stopAndOpen>[2];

/**
 * Creates tasks, and moves them as `STATE_TRANSITIONS` allows. A task is the agent it drives: its run moves it by itself,
 * and each move here owns the agent while it lasts, so it is refused with `AgentBusyError` while the task runs; only
 * `pause` and `cancel` interrupt it. A move that is not allowed rejects with `TransitionNotAllowedError`, one of no task
 * with `TaskNotFoundError`, what is no argument with `InvalidInputError`, and nothing has changed then.
 */
export class TaskManager {
  readonly #logs: TaskLogs;

  /** @throws InvalidInputError; StorageNotListableError for a provider of three methods. */
  constructor(options: TaskManagerOptions) {
    checkSchema(taskManagerSchemas.options, options, "options of the task manager");
    this.#logs = new TaskLogs(options);
  }

  /**
   * Keeps a new task, queued until a worker or a run of its agent starts it.
   *
   * @throws InvalidInputError, which names the fields; TaskExistsError when the id is taken; NotSerializableError.
   */
  async create(task: NewTask): Promise<TaskWithStatus<"queued">> {
    const { taskId = randomId(), ...given } = checkSchema(newTaskSchema, task, "new task") as NewTask;
    await using journal = await this.#logs.openJournal(taskId);
    if (journal.life.run || journal.life.task) throw new TaskExistsError(taskId);
    const run = runRecord(journal, randomId(), given.inputRequest);
    const queued: StatusRecord = { kind: "status", run: run.run, status: "queued", at: run.at };
    journal.append([taskRecord(given), run, queued]);
    await journal.durable();
    const created = storedTask(taskId, journal.life) as TaskWithStatus<"queued">;
    return readTask(this.#logs.log, created);
  }

  /** A task as it is now; `undefined` when there is none of this id. */
  async get(taskId: string): Promise<Task | undefined> {
    const task = storedTask(taskId, await this.#logs.life(taskId));
    return task && readTask(this.#logs.log, task);
  }

  /**
   * Tasks by priority, higher first, then by age. Agents that are no tasks are left out, and so is what cannot be read.
   * Those in progress are read from their logs, all others from their summaries.
   */
  async *list(filter: TaskFilter = {}): AsyncGenerator<Task> {
    checkSchema(taskManagerSchemas.filter, filter, "task filter");
    const { status, limit = Infinity, page = 1 } = filter;
    const first = page > 1 ? (page - 1) * limit : 0;
    let passed = 0;
    for await (const summary of this.#logs.log.list(status === undefined ? {} : { status })) {
      const listed = taskOfSummary(summary);
      if (!listed || passed++ < first) continue;
      if (passed > first + limit) return;
      const task = await this.#readListed(listed);
      // It may have moved on since it was listed.
      if (task && (status === undefined || task.status === status)) yield task;
    }
  }

  async #readListed(listed: Task): Promise<Task | undefined> {
    try {
      return listed.status === "in_progress" ? await this.get(listed.taskId) : await readTask(this.#logs.log, listed);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      return undefined;
    }
  }

  /** What a worker may take now: first what an ended process left in progress, then the queue by priority and age. */
  claimable(): AsyncGenerator<ClaimableTask> {
    return claimableTasks(this.#logs);
  }

  /** The clock that it was given. */
  get clock(): Clock {
    return this.#logs.clock;
  }

  /** Whether a task stands still and can go on, its owner taken into account. */
  async isResumable(taskId: string): Promise<boolean> {
    const task = storedTask(taskId, await this.#logs.life(taskId));
    if (!task) throw new TaskNotFoundError(taskId);
    return isResumable(task, (await this.#logs.log.owner(taskId))?.state);
  }

  /** For a task that is not driven by a run: it is in progress from now on. A worker that finds it so resumes it. */
  async start(taskId: string): Promise<TaskWithStatus<"in_progress">> {
    return this.#change(taskId, { status: "in_progress" });
  }

  /** Stops a task until it is resumed; one that runs is aborted first. */
  async pause(taskId: string, reason: string, options: PauseTaskOptions = {}): Promise<TaskWithStatus<"paused">> {
    checkSchema(taskManagerSchemas.pause, { reason, options }, "pause of a task");
    const { resumeInstructions: instructions, interrupt = true, timeoutMs = defaultStopTimeoutMs } = options;
    const change = { status: "paused", reason, ...(instructions !== undefined && { instructions }) } as const;
    return this.#change(taskId, change, interrupt ? { reason, timeoutMs } : undefined);
  }

  /** Lets a paused or waiting task go on: a worker that finds it in progress resumes it. */
  async resume(taskId: string): Promise<TaskWithStatus<"in_progress">> {
    return this.#change(taskId, { status: "in_progress" });
  }

  /** For a task that is not driven by a run: it waits for something outside. */
  async wait(taskId: string, wait: Readonly<StateData["waiting"]>): Promise<TaskWithStatus<"waiting">> {
    checkSchema(taskManagerSchemas.wait, wait, "wait of a task");
    const { waitingFor, promptShownToUser: prompt, timeoutAt } = wait;
    const until = timeoutAt === undefined ? {} : { until: Date.parse(timeoutAt) };
    return this.#change(taskId, { status: "waiting", waitingFor, prompt, ...until });
  }

  /** For a task that is not driven by a run: it has ended with an output. */
  async complete(
    taskId: string,
    end: { readonly output: unknown; readonly verificationResults?: readonly unknown[] | undefined },
  ): Promise<TaskWithStatus<"completed">> {
    checkSchema(taskManagerSchemas.complete, end, "end of a task");
    const { output, verificationResults } = end;
    return this.#end(taskId, "completed", undefined, async ({ writer, life }) => {
      const files = await changedFiles(this.#logs.log, taskId, life.run?.run ?? "");
      return {
        status: "completed",
        input: writer.value(output, "the output of the task"),
        ...(files.length > 0 && { files: writer.value(files, "the files that the task changed") }),
        ...(verificationResults && {
          verification: verificationResults.map((result) => writer.value(result, "a verification result")),
        }),
      };
    });
  }

  /** For a task that is not driven by a run: it has failed. @param options.recoverable whether it may be retried; default true. */
  async fail(
    taskId: string,
    error: unknown,
    options: { readonly recoverable?: boolean | undefined } = {},
  ): Promise<TaskWithStatus<"failed">> {
    checkSchema(taskManagerSchemas.fail, options, "options of a failure");
    const forGood = (options.recoverable ?? true) ? {} : { recoverable: false as const };
    return this.#change(taskId, { status: "failed", error: describeError(error), ...forGood });
  }

  /** Ends a task for good; one that runs is aborted first. What it did stands, and stays revertible. */
  async cancel(
    taskId: string,
    reason?: string,
    options: InterruptTaskOptions = {},
  ): Promise<TaskWithStatus<"cancelled">> {
    checkSchema(taskManagerSchemas.cancel, { reason, options }, "cancellation");
    const { timeoutMs = defaultStopTimeoutMs } = options;
    const end = { status: "cancelled", ...(reason !== undefined && { reason }) } as const;
    return this.#end(taskId, "cancelled", { reason: reason ?? "cancelled", timeoutMs }, async () => end);
  }

  /** Queues a failed task again: its run goes on from where it failed. Refused when it is not recoverable. */
  async retry(taskId: string): Promise<TaskWithStatus<"queued">> {
    return this.#change(taskId, { status: "queued" });
  }

  /** A move that is a status record. */
  async #change<Status extends StatusRecord["status"]>(
    taskId: string,
    change: Omit<StatusRecord, "kind" | "run" | "at"> & { readonly status: Status },
    stop?: StopOptions,
  ): Promise<TaskWithStatus<Status>> {
    return this.#move(taskId, change.status, stop, async ({ life, clock }) =>
      statusRecords(life, { ...change, at: clock.now() }),
    );
  }

  /** A move that ends the run. */
  async #end<Status extends RunEnd["status"]>(
    taskId: string,
    status: Status,
    stop: StopOptions | undefined,
    endOf: (journal: Journal) => Promise<RunEnd & { readonly status: Status }>,
  ): Promise<TaskWithStatus<Status>> {
    return this.#move(taskId, status, stop, async (journal) => {
      const { log, state } = journal.head ?? {};
      if (!log || !state) throw new TaskNotFoundError(taskId);
      return endRecords(journal, { log, state }, await endOf(journal));
    });
  }

  async #move<Status extends TaskStatus>(
    taskId: string,
    to: Status,
    stop: StopOptions | undefined,
    recordsOf: (journal: Journal) => Promise<readonly AgentRecord[]>,
  ): Promise<TaskWithStatus<Status>> {
    const logs = this.#logs;
    await using journal = await (stop ? stopAndOpen(logs, taskId, stop) : logs.openJournal(taskId));
    const { life, generation } = journal;
    const before = storedTask(taskId, life);
    if (!before) throw new TaskNotFoundError(taskId);
    const records = await recordsOf(journal);
    const moved = applyTransition({ before, life, generation, records, to });
    journal.append(records);
    await journal.durable();
    return readTask(logs.log, moved);
  }
}

function taskRecord({
  taskName: name,
  priority = 0,
  estimatedComplexity: complexity,
  reserves = [],
}: NewTask): TaskRecord {
  return {
    kind: "task",
    name,
    ...(priority !== 0 && { priority }),
    ...(complexity !== undefined && { complexity }),
    ...(reserves.length > 0 && { reserves }),
  };
}
