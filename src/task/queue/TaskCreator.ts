import { checkpointParts, defaultMaxCheckpointBytes } from "../../checkpoint/data/checkpointParts.ts";
import type { StatusRecord, TaskRecord } from "../../checkpoint/records/runRecords.ts";
import type { StatusState } from "../../checkpoint/state/StatusState.ts";
import { encodeValue } from "../../checkpoint/values/valueCodec.ts";
import { CheckpointTooLargeError } from "../../errors/checkpointErrors.ts";
import { AlreadyExistsError } from "../../errors/storageErrors.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { randomId } from "../../internal/randomId.ts";
import { forEachAtOnce } from "../../internal/together.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { openWithRetry } from "../../journal/openWithRetry.ts";
import { runRecord } from "../../journal/runRecords.ts";
import { whileBusy } from "../../journal/shape/whileBusy.ts";
import { processOwner } from "../../storage/ReleasableLog.ts";
import { type DuplicateIds, duplicateIds } from "./deduplicate.ts";
import { newTaskControls } from "./newTaskControls.ts";
import { taskOrder } from "./taskOrder.ts";
import { type NewTask, newTaskSchema, type Task, type TaskWithStatus } from "../state/Task.ts";
import { readTask, storedTask } from "./storedTask.ts";
import type { TaskLogs } from "./TaskLogs.ts";

/** How long `create` waits for an owner of the id who has not stored a task under it. */
const createTimeoutMs = 5_000;

/** The number of tasks that `createMany` creates at the same time. */
const createdAtOnce = 32;

/** A task that {@link TaskCreator.check} has accepted. */
export interface CheckedTask extends NewTask {
  readonly taskId: string;
}

/** Stores new tasks. */
export class TaskCreator {
  readonly #logs: TaskLogs;
  readonly #maxInputBytes: number;

  constructor(logs: TaskLogs, maxInputBytes = defaultMaxCheckpointBytes) {
    this.#logs = logs;
    this.#maxInputBytes = maxInputBytes;
  }

  /** @throws InvalidInputError, NotSerializableError, CheckpointTooLargeError */
  check(task: NewTask): CheckedTask {
    const given = checkSchema(newTaskSchema, task, "new task") as NewTask;
    const { taskId = randomId(), deduplicationId } = given;
    this.#assertInputFits(deduplicationId ?? taskId, given.inputRequest);
    return { ...given, taskId };
  }

  async createMany(tasks: readonly CheckedTask[]): Promise<Task[]> {
    const created: Task[] = [];
    const failures: unknown[] = [];
    await forEachAtOnce([...tasks.entries()], createdAtOnce, async ([at, task]) => {
      try {
        created[at] = await this.create(task);
      } catch (error) {
        failures.push(error);
      }
    });
    if (failures.length > 0) throw failures[0];
    return created;
  }

  async create(task: CheckedTask): Promise<Task> {
    if (task.deduplicationId === undefined) return this.#store(task.taskId, task);
    const ids = duplicateIds(task, this.#logs.clock.now(), await this.#logs.sha256());
    if (ids.lock === undefined) return this.#storeOnce(ids.taskId, task);
    const lock = await this.#own(ids.lock);
    try {
      return (await this.#duplicate(ids, task)) ?? (await this.#storeOnce(ids.taskId, task));
    } finally {
      await lock.release();
    }
  }

  /** Keeps other creators of duplicates out. */
  async #own(lockId: string) {
    const open = () => this.#logs.log.open(lockId, processOwner());
    const lock = await whileBusy(open, { clock: this.#logs.clock, timeoutMs: createTimeoutMs }, async () => false);
    return lock as NonNullable<typeof lock>;
  }

  /** Returns a task of a nearby window that was created less than a window ago. */
  async #duplicate({ nearby }: DuplicateIds, { deduplicationWindowMs = 0 }: NewTask): Promise<Task | undefined> {
    for (const taskId of nearby) {
      const life = await this.#logs.life(taskId);
      const ageMs = this.#logs.clock.now() - (life.createdAt ?? Number.NEGATIVE_INFINITY);
      if (Math.abs(ageMs) < deduplicationWindowMs) return this.#existing(taskId, life);
    }
    return undefined;
  }

  async #storeOnce(taskId: string, task: NewTask): Promise<Task> {
    const known = await this.#existing(taskId, await this.#logs.life(taskId));
    if (known) return known;
    try {
      return await this.#store(taskId, task);
    } catch (error) {
      const created =
        error instanceof AlreadyExistsError && (await this.#existing(taskId, await this.#logs.life(taskId)));
      if (created) return created;
      throw error;
    }
  }

  async #existing(taskId: string, life: StatusState): Promise<Task | undefined> {
    const task = storedTask(taskId, life);
    return task && readTask(this.#logs.log, task);
  }

  #store(taskId: string, task: NewTask): Promise<TaskWithStatus<"queued">> {
    const { telemetry } = this.#logs;
    if (!telemetry) return this.#append(taskId, task);
    return telemetry.enqueue(taskId, (span) => this.#append(taskId, task, span.trace));
  }

  async #append(taskId: string, task: NewTask, trace?: string): Promise<TaskWithStatus<"queued">> {
    // The owner of the agent may be creating it. Its records follow its ownership.
    const assertNew = async () => assertUnused(taskId, await this.#logs.life(taskId));
    await using journal = await openWithRetry(this.#logs, taskId, createTimeoutMs, assertNew);
    assertUnused(taskId, journal.statusState);
    const run = runRecord(journal, randomId(), task.inputRequest, trace);
    const queued: StatusRecord = { kind: "status", run: run.run, status: "queued", at: run.at };
    await journal.store([taskRecord(task, run.at), run, queued]);
    const created = storedTask(taskId, journal.statusState) as TaskWithStatus<"queued">;
    return readTask(this.#logs.log, created);
  }

  /** @throws CheckpointTooLargeError */
  #assertInputFits(taskId: string, inputRequest: unknown): void {
    const subject = "the input of the run";
    const record = { kind: "run", run: "", input: encodeValue(inputRequest, subject), at: 0 } as const;
    const parts = checkpointParts([{ name: subject, record }]);
    if (parts.some(({ bytes }) => bytes > this.#maxInputBytes))
      throw new CheckpointTooLargeError(taskId, "start", parts, this.#maxInputBytes);
  }
}

/** @throws AlreadyExistsError */
function assertUnused(taskId: string, { run, task }: StatusState): void {
  if (run || task) throw new AlreadyExistsError("task_exists", taskId);
}

function taskRecord(task: NewTask, createdAt: number): TaskRecord {
  const { taskName: name, priority = 0, estimatedComplexity, reserves } = task;
  const controls = newTaskControls(task);
  return withoutUndefined({
    kind: "task",
    name,
    priority: priority === 0 ? undefined : priority,
    complexity: estimatedComplexity,
    reserves: reserves?.length === 0 ? undefined : reserves,
    controls,
    order: controls && taskOrder(controls, priority, createdAt),
  });
}
