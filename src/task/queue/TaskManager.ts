import { checkSchema } from "../../internal/options/checkSchema.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import { type StatusState, statusRecords } from "../../checkpoint/state/StatusState.ts";
import { type StatusRecord, describeError } from "../../checkpoint/records/runRecords.ts";
import type { WaitingFor, TaskStatus, StateData } from "../../checkpoint/status/TaskStatus.ts";
import { StatusChangedError } from "../../errors/runErrors.ts";
import { TaskNotFoundError } from "../../errors/taskErrors.ts";
import type { Clock } from "../../internal/Clock.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Journal } from "../../journal/Journal.ts";
import { custodyError } from "../../journal/assertCustody.ts";
import { changedFiles } from "../../journal/notesAround.ts";
import { endRecords, type RunEnd } from "../../journal/runRecords.ts";
import { stopAndOpen } from "../../journal/openWithRetry.ts";
import { hasStateData, isResumable } from "../state/transitionTask.ts";
import { compareText, listSummaries } from "../../storage/summaries.ts";
import type { AgentSummary, LogWatch, RecordLog } from "../../storage/RecordLog.ts";
import { type ClaimableTask, claimableTasks, isOvertaken, isUnreadable } from "./claimableTasks.ts";
import { applyTransition, readTask, storedTask, taskOfSummary } from "./storedTask.ts";
import type { NewTask, Task, TaskWithStatus } from "../state/Task.ts";
import { isBehindTasks, isInQueue, queueOrder, queuePrefix } from "./taskOrder.ts";
import type { QueueRefusal, QueueTurn, QueueLimits } from "./QueueTurns.ts";
import type { NewSchedule, Schedule } from "./Schedule.ts";
import { Schedules } from "./Schedules.ts";
import type { QueueScope } from "./QueuedTasks.ts";
import { TaskCreator } from "./TaskCreator.ts";
import { TaskLogs } from "./TaskLogs.ts";
import {
  type InterruptTaskOptions,
  type PauseTaskOptions,
  type TaskFilter,
  type TaskManagerOptions,
  taskManagerSchemas,
} from "./TaskManagerOptions.ts";

const defaultStopTimeoutMs = 30_000;

type StopRequest = Parameters<typeof stopAndOpen>[2];

/**
 * Creates tasks and changes their status as `STATE_TRANSITIONS` allows. A task is the agent that it drives, and its run
 * changes the status as well. Each method that changes a task owns the agent, so it rejects with `AgentBusyError` while
 * the task runs. Only `pause` and `cancel` interrupt the run. A change that is not allowed rejects with
 * `TransitionNotAllowedError`, an unknown id with `TaskNotFoundError`, and a wrong argument with `InvalidInputError`.
 * In these cases the task is unchanged.
 *
 * @example
 * ```ts
 * const tasks = new TaskManager({ storage });
 * const { taskId } = await tasks.create({ taskName: "import", inputRequest: "Import the users.", priority: 5 });
 * await new TaskWorker({ tasks, agents: { import: agent } }).run();
 * console.log((await tasks.get(taskId))?.status); // "completed"
 * ```
 */
export class TaskManager {
  readonly #logs: TaskLogs;
  readonly #creator: TaskCreator;
  /** The schedules of the storage. Create one with {@link schedule}. */
  readonly schedules: Schedules;

  /** @throws InvalidInputError @throws StorageNotListableError for a storage without a list of its agents. */
  constructor(options: TaskManagerOptions) {
    checkSchema(taskManagerSchemas.options, options, "options of the task manager");
    this.#logs = new TaskLogs(options.redact?.apply(options) ?? options);
    this.#creator = new TaskCreator(this.#logs, options.maxCheckpointBytes);
    this.schedules = new Schedules(this.#logs, this.#creator, this);
  }

  /**
   * Stores a new task in the queue. A worker or a run of the agent starts the task. If the queue already has a task
   * with the same `deduplicationId`, returns that task.
   *
   * @throws InvalidInputError, which names the fields. NotSerializableError.
   * @throws AlreadyExistsError if the id is in use.
   * @throws CheckpointTooLargeError if a run would refuse the input because of its size.
   * @throws AgentBusyError if another process has owned the id for seconds without storing a run under it.
   */
  create(task: NewTask & { readonly deduplicationId: string }): Promise<Task>;
  create(task: NewTask): Promise<TaskWithStatus<"queued">>;
  async create(task: NewTask): Promise<Task> {
    return this.#creator.create(this.#creator.check(task));
  }

  /**
   * Stores new tasks in few round trips, and returns them in this order. Checks all tasks first. If the creation of one
   * task fails, the other tasks are still created, and the call then rejects like `create`. You can repeat the call for
   * tasks with a `deduplicationId`.
   */
  async createMany(tasks: readonly NewTask[]): Promise<Task[]> {
    return this.#creator.createMany(tasks.map((task) => this.#creator.check(task)));
  }

  /**
   * Creates a schedule, whose ticks start tasks, or changes the schedule with this id. Workers that poll drive all
   * schedules of their storage. Each process may make the same call, because a call without a change stores no data.
   *
   * @throws InvalidInputError, NotSerializableError
   * @throws CheckpointTooLargeError if a run would refuse the input because of its size.
   */
  schedule(schedule: NewSchedule): Promise<Schedule> {
    return this.schedules.set(schedule);
  }

  /**
   * Returns the current task, or `undefined` for an unknown id.
   *
   * @throws AgentMovedError if the task moved or is moving to another storage.
   * @throws AgentCopiedError if the task was imported as a copy.
   */
  async get(taskId: string): Promise<Task | undefined> {
    const life = await this.#logs.life(taskId);
    const away = life.task && custodyError(taskId, life);
    if (away) throw away;
    return this.#read(taskId, life);
  }

  async #read(taskId: string, life: StatusState): Promise<Task | undefined> {
    const task = storedTask(taskId, life);
    return task && readTask(this.#logs.log, task);
  }

  /**
   * Lists tasks by priority, higher first, then by age. Lists tasks with a queue last, by queue, priority, key and age.
   * A task with `notBefore` counts from that time. For the next page, pass the `cursor` of the last task as `after`.
   * Omits agents that are not tasks, unreadable tasks, and tasks that may not run here. Reads tasks in progress from
   * their logs, and all others from their summaries.
   *
   * @throws InvalidInputError
   */
  async *list(filter: TaskFilter = {}): AsyncGenerator<Task> {
    checkSchema(taskManagerSchemas.filter, filter, "task filter");
    const { status, limit = Infinity } = filter;
    let left = limit;
    for await (const summary of left > 0 ? this.#summaries(filter) : []) {
      const listed = taskOfSummary(summary);
      const task = listed && (await this.#readListed(listed));
      // The status may have changed since the listing.
      if (!task || (status !== undefined && task.status !== status)) continue;
      yield task;
      if (--left === 0) return;
    }
  }

  /** Reads further pages until the caller has enough tasks, because some agents are not tasks. */
  async *#summaries(filter: TaskFilter): AsyncGenerator<AgentSummary> {
    const { status, queue, limit = Infinity, after } = filter;
    let behind = startOfQueue(queue, after);
    const { log } = this.#logs;
    const isWhole = readsAllAtOnce(log, filter);
    for (let isMore = true; isMore;) {
      let found = 0;
      isMore = false;
      const page = limit === Infinity ? undefined : limit;
      for await (const summary of listSummaries(log, withoutUndefined({ status, after: behind, limit: page }))) {
        if (queue !== undefined && !isInQueue(summary.order, queue)) return;
        if (isWhole && isBehindTasks(summary.order)) continue;
        isMore = isBehindTasks(summary.order);
        behind = isMore ? queuePrefix : summary.order;
        if (isMore) break;
        yield summary;
        isMore = ++found === limit;
      }
    }
  }

  /** Returns a listed task, read from its log if its summary is damaged, with data that do not match its status. */
  async #readListed(listed: Task): Promise<Task | undefined> {
    try {
      const isWhole = listed.status !== "in_progress" && hasStateData(listed);
      if (isWhole) return await readTask(this.#logs.log, listed);
      return await this.#read(listed.taskId, await this.#logs.life(listed.taskId));
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      return undefined;
    }
  }

  /**
   * Lists the tasks of a queue that a worker may claim, by priority. With equal priority, interrupted tasks are first,
   * then overdue tasks and retries, then the queue by age.
   *
   * @param scope.queue defaults to the tasks without a queue.
   */
  claimable(scope: QueueScope = {}): AsyncGenerator<ClaimableTask> {
    return claimableTasks(this.#logs, scope);
  }

  /** Takes a turn to run a task, if no limit of its queue is reached. Workers call this before they start a task. */
  takeTurn(
    task: { readonly queue: string; readonly key?: string | undefined },
    limits: QueueLimits,
  ): Promise<QueueTurn | QueueRefusal> {
    return this.#logs.turns.take(task, limits);
  }

  /**
   * Calls a function soon after an agent of the storage was released and a task may be claimable. Calls may be
   * unnecessary, late or missing. Returns `undefined` if the storage cannot report releases.
   */
  async watch(onChange: () => void): Promise<LogWatch | undefined> {
    return this.#logs.log.watch?.(onChange);
  }

  /** The clock from the options. */
  get clock(): Clock {
    return this.#logs.clock;
  }

  /** Returns whether a stopped task can be resumed. For this, reads the state of its owner. See {@link isResumable}. */
  async isResumable(taskId: string): Promise<boolean> {
    const task = storedTask(taskId, await this.#logs.life(taskId));
    if (!task) throw new TaskNotFoundError(taskId);
    return isResumable(task, (await this.#logs.log.owner(taskId))?.state);
  }

  /** Starts a task without a run. When a worker finds the task in progress, it resumes the task. */
  async start(taskId: string): Promise<TaskWithStatus<"in_progress">> {
    return this.#change(taskId, { status: "in_progress" });
  }

  /** Pauses a task until it is resumed. Aborts a running task first. */
  async pause(taskId: string, reason: string, options: PauseTaskOptions = {}): Promise<TaskWithStatus<"paused">> {
    checkSchema(taskManagerSchemas.pause, { reason, options }, "pause of a task");
    const { resumeInstructions: instructions, interrupt = true, timeoutMs = defaultStopTimeoutMs } = options;
    const change = withoutUndefined({ status: "paused", reason, instructions });
    return this.#change(taskId, change, interrupt ? { reason, timeoutMs } : undefined);
  }

  /** Sets a paused or waiting task in progress. When a worker finds the task in progress, it resumes the task. */
  async resume(taskId: string): Promise<TaskWithStatus<"in_progress">> {
    return this.#change(taskId, { status: "in_progress" });
  }

  /** Records that a task without a run waits for an external event. */
  async wait(
    taskId: string,
    wait: Readonly<StateData["waiting"]> & { readonly waitingFor: Exclude<WaitingFor, "timer" | "event"> },
  ): Promise<TaskWithStatus<"waiting">> {
    checkSchema(taskManagerSchemas.wait, wait, "wait of a task");
    const { waitingFor, promptShownToUser: prompt, timeoutAt } = wait;
    const until = timeoutAt === undefined ? undefined : Date.parse(timeoutAt);
    return this.#change(taskId, withoutUndefined({ status: "waiting", waitingFor, prompt, until }));
  }

  /** Completes a task without a run. */
  async complete(
    taskId: string,
    end: { readonly output: unknown; readonly verificationResults?: readonly unknown[] | undefined },
  ): Promise<TaskWithStatus<"completed">> {
    checkSchema(taskManagerSchemas.complete, end, "end of a task");
    return this.#move(taskId, "completed", undefined, async (journal) => {
      const { writer, statusState } = journal;
      const files = await changedFiles(this.#logs.log, taskId, statusState.run?.run ?? "");
      const ended = withoutUndefined({
        status: "completed",
        input: writer.value(end.output, "the output of the task"),
        files: files.length > 0 ? writer.value(files, "the files that the task changed") : undefined,
        verification: end.verificationResults?.map((result) => writer.value(result, "a verification result")),
      });
      return endOf(taskId, journal, ended);
    });
  }

  /** Fails a task without a run. @param options.recoverable whether the task may be retried. Defaults to true. */
  async fail(
    taskId: string,
    error: unknown,
    options: { readonly recoverable?: boolean | undefined } = {},
  ): Promise<TaskWithStatus<"failed">> {
    checkSchema(taskManagerSchemas.fail, options, "options of a failure");
    const recoverable = (options.recoverable ?? true) ? undefined : false;
    return this.#change(taskId, withoutUndefined({ status: "failed", error: describeError(error), recoverable }));
  }

  /**
   * Cancels a task permanently. Aborts a running task first. The effects of the task remain and can still be reverted.
   * A failed task can be cancelled before a worker retries it.
   */
  async cancel(
    taskId: string,
    reason?: string,
    options: InterruptTaskOptions = {},
  ): Promise<TaskWithStatus<"cancelled">> {
    checkSchema(taskManagerSchemas.cancel, { reason, options }, "cancellation");
    const { timeoutMs = defaultStopTimeoutMs } = options;
    const request = `the task is cancelled${reason === undefined ? "" : `: ${reason}`}`;
    return this.#move(taskId, "cancelled", { reason: request, timeoutMs }, async (journal) =>
      endOf(taskId, journal, withoutUndefined({ status: "cancelled", reason })),
    );
  }

  /** Queues a failed task again. Its run resumes at the failed step. Rejects if the failure is not recoverable. */
  async retry(taskId: string): Promise<TaskWithStatus<"queued">> {
    return this.#change(taskId, { status: "queued" });
  }

  /** Lists the failed tasks that no worker retries. Also reads the failed tasks that a worker retries. */
  async *listDead(filter: Omit<TaskFilter, "status"> = {}): AsyncGenerator<TaskWithStatus<"failed">> {
    const { limit = Infinity, ...rest } = filter;
    checkSchema(taskManagerSchemas.filter, filter, "task filter");
    let left = limit;
    for await (const task of left > 0 ? this.list({ ...rest, status: "failed" }) : []) {
      const failed = task as TaskWithStatus<"failed">;
      if (failed.data.retryAt !== undefined) continue;
      yield failed;
      if (--left === 0) return;
    }
  }

  /**
   * Queues dead tasks again, each for one more attempt. Only tasks whose failure is recoverable are queued. Skips
   * unreadable tasks, and tasks that another process changes or moves at the same time. Returns the ids of the queued
   * tasks.
   */
  async retryAll(filter: Omit<TaskFilter, "status"> = {}): Promise<string[]> {
    const retried: string[] = [];
    for await (const { taskId, data } of this.listDead(filter)) {
      if (!data.recoverable) continue;
      try {
        await this.retry(taskId);
        retried.push(taskId);
      } catch (error) {
        if (!isOvertaken(error) && !isUnreadable(error)) throw error;
      }
    }
    return retried;
  }

  /**
   * Cancels a task that has not started before its `expiresAt`. Workers call this method.
   *
   * @throws StatusChangedError if the task is no longer queued, has started, or has no such time.
   * @throws AgentBusyError if the task is running.
   */
  async expire(taskId: string): Promise<TaskWithStatus<"cancelled">> {
    return this.#move(taskId, "cancelled", undefined, async (journal) => {
      const { current, task, startedAt } = journal.statusState;
      const { expiresAt } = task?.controls ?? {};
      const isNew = current?.status === "queued" && startedAt === undefined;
      if (!isNew || expiresAt === undefined || Date.parse(expiresAt) > this.clock.now())
        throw new StatusChangedError(taskId, current?.status, ["queued"]);
      return endOf(taskId, journal, { status: "cancelled", reason: `The task expired at ${expiresAt}.` });
    });
  }

  async #change<Status extends StatusRecord["status"]>(
    taskId: string,
    change: Omit<StatusRecord, "kind" | "run" | "at"> & { readonly status: Status },
    stop?: StopRequest,
  ): Promise<TaskWithStatus<Status>> {
    return this.#move(taskId, change.status, stop, async ({ statusState, clock }) =>
      statusRecords(statusState, { ...change, at: clock.now() }),
    );
  }

  async #move<Status extends TaskStatus>(
    taskId: string,
    to: Status,
    stop: StopRequest | undefined,
    recordsOf: (journal: Journal) => Promise<readonly AgentRecord[]>,
  ): Promise<TaskWithStatus<Status>> {
    const logs = this.#logs;
    await using journal = await (stop ? stopAndOpen(logs, taskId, stop) : logs.openJournal(taskId));
    const { statusState, generation } = journal;
    const before = storedTask(taskId, statusState);
    if (!before) throw new TaskNotFoundError(taskId);
    const records = await recordsOf(journal);
    const moved = applyTransition({ before, life: statusState, generation, records, to });
    await journal.store(records);
    return readTask(logs.log, moved);
  }
}

function endOf(taskId: string, journal: Journal, end: RunEnd): readonly AgentRecord[] {
  const { log, state } = journal.head ?? {};
  if (!log || !state) throw new TaskNotFoundError(taskId);
  return endRecords(journal, { log, state }, end);
}

/** Returns whether a list reads all files before it yields, so that a second list would read all of them again. */
function readsAllAtOnce({ capabilities }: RecordLog, { status, limit = Infinity }: TaskFilter): boolean {
  return status === undefined && limit === Infinity && capabilities.folder !== undefined;
}

/** Returns the later one of a cursor and the start of a queue. */
function startOfQueue(queue: string | undefined, after: string | undefined): string | undefined {
  const start = queue === undefined ? undefined : queueOrder(queue);
  return start === undefined || (after !== undefined && compareText(after, start) > 0) ? after : start;
}
