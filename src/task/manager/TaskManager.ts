import { checkpointParts, defaultMaxCheckpointBytes } from "../../checkpoint/data/checkpointParts.ts";
import { encodeValue } from "../../checkpoint/values/valueCodec.ts";
import { CheckpointTooLargeError } from "../../errors/checkpoint/CheckpointTooLargeError.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { StatusState } from "../../checkpoint/state/StatusState.ts";
import type { StatusRecord, TaskRecord } from "../../checkpoint/records/runRecords.ts";
import { statusRecords } from "../../checkpoint/state/statusRecords.ts";
import type { StateData } from "../../checkpoint/status/StateData.ts";
import type { TaskStatus } from "../../checkpoint/status/TaskStatus.ts";
import { AlreadyExistsError } from "../../errors/storage/AlreadyExistsError.ts";
import { TaskNotFoundError } from "../../errors/task/TaskNotFoundError.ts";
import type { Clock } from "../../internal/Clock.ts";
import { randomId } from "../../internal/randomId.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Journal } from "../../journal/Journal.ts";
import { custodyError } from "../../journal/custody/custodyError.ts";
import { changedFiles } from "../../journal/changedFiles.ts";
import { endRecords, type RunEnd } from "../../journal/endRecords.ts";
import { openWithRetry, stopAndOpen } from "../../journal/openWithRetry.ts";
import { describeError } from "../../journal/describeError.ts";
import { runRecord } from "../../journal/runRecord.ts";
import { hasStateData, isResumable } from "../state/transitionTask.ts";
import { listSummaries } from "../../storage/listSummaries.ts";
import type { AgentSummary, LogWatch } from "../../storage/RecordLog.ts";
import { type ClaimableTask, claimableTasks, isUnreadable } from "./claimableTasks.ts";
import { applyTransition, readTask, storedTask, taskOfSummary } from "./storedTask.ts";
import { type NewTask, newTaskSchema, type Task, type TaskWithStatus } from "../state/Task.ts";
import { TaskLogs } from "./TaskLogs.ts";
import {
  type InterruptTaskOptions,
  type PauseTaskOptions,
  type TaskFilter,
  type TaskManagerOptions,
  taskManagerSchemas,
} from "./TaskManagerOptions.ts";

const defaultStopTimeoutMs = 30_000;
/** How long `create` waits for an owner of the id who has stored no task under it. */
const createTimeoutMs = 5_000;

type StopOptions = Parameters<typeof stopAndOpen>[2];

/**
 * Creates tasks and changes their status as `STATE_TRANSITIONS` allows. A task is the agent that it drives, and its run
 * changes the status by itself. Each change here owns the agent, so it rejects with `AgentBusyError` while the task runs;
 * only `pause` and `cancel` interrupt the run. A change that is not allowed rejects with `TransitionNotAllowedError`, an
 * unknown task id with `TaskNotFoundError` and a wrong argument with `InvalidInputError`; the task is then unchanged.
 */
export class TaskManager {
  readonly #logs: TaskLogs;
  readonly #maxInputBytes: number;

  /** @throws InvalidInputError; StorageNotListableError for a provider without a `RecordLog`, or one that keeps nothing. */
  constructor(options: TaskManagerOptions) {
    checkSchema(taskManagerSchemas.options, options, "options of the task manager");
    this.#maxInputBytes = options.maxCheckpointBytes ?? defaultMaxCheckpointBytes;
    this.#logs = new TaskLogs(options);
  }

  /**
   * Stores a new task in the queue. A worker, or a run of its agent, starts it.
   *
   * @throws InvalidInputError, which names the fields; AlreadyExistsError when the id is in use; NotSerializableError; CheckpointTooLargeError for an input that a run would refuse;
   * AgentBusyError when another process has owned the id for seconds and stored no run under it.
   */
  async create(task: NewTask): Promise<TaskWithStatus<"queued">> {
    const { taskId = randomId(), ...given } = checkSchema(newTaskSchema, task, "new task") as NewTask;
    this.#assertInputFits(taskId, given.inputRequest);
    const { telemetry } = this.#logs;
    if (!telemetry) return this.#create(taskId, given);
    return telemetry.enqueue(taskId, (span) => this.#create(taskId, given, span.trace));
  }

  async #create(taskId: string, given: Omit<NewTask, "taskId">, trace?: string): Promise<TaskWithStatus<"queued">> {
    // Whoever owns the agent may be creating it, and its records come later than its ownership.
    const assertNew = async () => assertUnused(taskId, await this.#logs.life(taskId));
    await using journal = await openWithRetry(this.#logs, taskId, createTimeoutMs, assertNew);
    assertUnused(taskId, journal.statusState);
    const run = runRecord(journal, randomId(), given.inputRequest, trace);
    const queued: StatusRecord = { kind: "status", run: run.run, status: "queued", at: run.at };
    await journal.store([taskRecord(given), run, queued]);
    const created = storedTask(taskId, journal.statusState) as TaskWithStatus<"queued">;
    return readTask(this.#logs.log, created);
  }

  /**
   * The current task; `undefined` when no task has this id.
   *
   * @throws AgentMovedError when it was moved, or is moving, to another storage; AgentCopiedError when it was imported as a copy.
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
   * Yields tasks by priority, higher first, then by age. For the next page, pass the `cursor` of the last task as `after`.
   * Agents that are not tasks are left out, and so are tasks that cannot be read or may not run here. Tasks in progress are
   * read from their logs, all others from their summaries.
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
      // Its status may have changed since it was listed.
      if (!task || (status !== undefined && task.status !== status)) continue;
      yield task;
      if (--left === 0) return;
    }
  }

  /** A page after another, until the caller has enough: some agents may be no tasks. */
  async *#summaries({ status, limit = Infinity, after }: TaskFilter): AsyncGenerator<AgentSummary> {
    let behind = after;
    for (let found = limit; found === limit;) {
      found = 0;
      const page = limit === Infinity ? undefined : limit;
      for await (const summary of listSummaries(
        this.#logs.log,
        withoutUndefined({ status, after: behind, limit: page }),
      )) {
        yield summary;
        behind = summary.order;
        found++;
      }
    }
  }

  /** A summary with data of another status than its own is a damaged picture: the log has the task. */
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

  /** The tasks that a worker may claim, by priority; of equal ones the interrupted, then the overdue, then the queue by age. */
  claimable(): AsyncGenerator<ClaimableTask> {
    return claimableTasks(this.#logs);
  }

  /**
   * Calls a function soon after an agent of the storage was given back, when a task may be claimable. Calls may be without a
   * cause, late or missing. `undefined`: the storage cannot tell.
   */
  async watch(onChange: () => void): Promise<LogWatch | undefined> {
    return this.#logs.log.watch?.(onChange);
  }

  /** The clock of the options. */
  get clock(): Clock {
    return this.#logs.clock;
  }

  /** Whether a stopped task can be resumed; see {@link isResumable}. Reads the state of its owner. */
  async isResumable(taskId: string): Promise<boolean> {
    const task = storedTask(taskId, await this.#logs.life(taskId));
    if (!task) throw new TaskNotFoundError(taskId);
    return isResumable(task, (await this.#logs.log.owner(taskId))?.state);
  }

  /** Starts a task that no run drives. A worker that finds it in progress resumes it. */
  async start(taskId: string): Promise<TaskWithStatus<"in_progress">> {
    return this.#change(taskId, { status: "in_progress" });
  }

  /** Pauses a task until it is resumed. A running task is aborted first. */
  async pause(taskId: string, reason: string, options: PauseTaskOptions = {}): Promise<TaskWithStatus<"paused">> {
    checkSchema(taskManagerSchemas.pause, { reason, options }, "pause of a task");
    const { resumeInstructions: instructions, interrupt = true, timeoutMs = defaultStopTimeoutMs } = options;
    const change = withoutUndefined({ status: "paused", reason, instructions });
    return this.#change(taskId, change, interrupt ? { reason, timeoutMs } : undefined);
  }

  /** Sets a paused or waiting task in progress. A worker that finds it in progress resumes it. */
  async resume(taskId: string): Promise<TaskWithStatus<"in_progress">> {
    return this.#change(taskId, { status: "in_progress" });
  }

  /** Records that a task that no run drives waits for something outside. */
  async wait(taskId: string, wait: Readonly<StateData["waiting"]>): Promise<TaskWithStatus<"waiting">> {
    checkSchema(taskManagerSchemas.wait, wait, "wait of a task");
    const { waitingFor, promptShownToUser: prompt, timeoutAt } = wait;
    const until = timeoutAt === undefined ? undefined : Date.parse(timeoutAt);
    return this.#change(taskId, withoutUndefined({ status: "waiting", waitingFor, prompt, until }));
  }

  /** Completes a task that no run drives. */
  async complete(
    taskId: string,
    end: { readonly output: unknown; readonly verificationResults?: readonly unknown[] | undefined },
  ): Promise<TaskWithStatus<"completed">> {
    checkSchema(taskManagerSchemas.complete, end, "end of a task");
    return this.#move(taskId, "completed", undefined, async (journal) => {
      const { writer, statusState } = journal;
      const files = await changedFiles(this.#logs.log, taskId, statusState.run?.run ?? "", 0);
      const ended = withoutUndefined({
        status: "completed",
        input: writer.value(end.output, "the output of the task"),
        files: files.length > 0 ? writer.value(files, "the files that the task changed") : undefined,
        verification: end.verificationResults?.map((result) => writer.value(result, "a verification result")),
      });
      return endOf(taskId, journal, ended);
    });
  }

  /** Fails a task that no run drives. @param options.recoverable whether it may be retried; default true. */
  async fail(
    taskId: string,
    error: unknown,
    options: { readonly recoverable?: boolean | undefined } = {},
  ): Promise<TaskWithStatus<"failed">> {
    checkSchema(taskManagerSchemas.fail, options, "options of a failure");
    const recoverable = (options.recoverable ?? true) ? undefined : false;
    return this.#change(taskId, withoutUndefined({ status: "failed", error: describeError(error), recoverable }));
  }

  /** Ends a task permanently. A running task is aborted first. Its effects remain, and can still be reverted. */
  async cancel(
    taskId: string,
    reason?: string,
    options: InterruptTaskOptions = {},
  ): Promise<TaskWithStatus<"cancelled">> {
    checkSchema(taskManagerSchemas.cancel, { reason, options }, "cancellation");
    const { timeoutMs = defaultStopTimeoutMs } = options;
    return this.#move(taskId, "cancelled", { reason: reason ?? "cancelled", timeoutMs }, async (journal) =>
      endOf(taskId, journal, withoutUndefined({ status: "cancelled", reason })),
    );
  }

  /** Queues a failed task again; its run resumes where it failed. Rejects when the failure is not recoverable. */
  async retry(taskId: string): Promise<TaskWithStatus<"queued">> {
    return this.#change(taskId, { status: "queued" });
  }

  /** @throws CheckpointTooLargeError */
  #assertInputFits(taskId: string, inputRequest: unknown): void {
    const subject = "the input of the run";
    const record = { kind: "run", run: "", input: encodeValue(inputRequest, subject), at: 0 } as const;
    const parts = checkpointParts([{ name: subject, record }]);
    if (parts.some(({ bytes }) => bytes > this.#maxInputBytes))
      throw new CheckpointTooLargeError(taskId, "start", parts, this.#maxInputBytes);
  }

  async #change<Status extends StatusRecord["status"]>(
    taskId: string,
    change: Omit<StatusRecord, "kind" | "run" | "at"> & { readonly status: Status },
    stop?: StopOptions,
  ): Promise<TaskWithStatus<Status>> {
    return this.#move(taskId, change.status, stop, async ({ statusState, clock }) =>
      statusRecords(statusState, { ...change, at: clock.now() }),
    );
  }

  async #move<Status extends TaskStatus>(
    taskId: string,
    to: Status,
    stop: StopOptions | undefined,
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

/** @throws AlreadyExistsError */
function assertUnused(taskId: string, { run, task }: StatusState): void {
  if (run || task) throw new AlreadyExistsError("task_exists", taskId);
}

function endOf(taskId: string, journal: Journal, end: RunEnd): readonly AgentRecord[] {
  const { log, state } = journal.head ?? {};
  if (!log || !state) throw new TaskNotFoundError(taskId);
  return endRecords(journal, { log, state }, end);
}

function taskRecord({ taskName: name, priority, estimatedComplexity, reserves }: NewTask): TaskRecord {
  return withoutUndefined({
    kind: "task",
    name,
    priority: priority === 0 ? undefined : priority,
    complexity: estimatedComplexity,
    reserves: reserves?.length === 0 ? undefined : reserves,
  });
}
