import { checkpointParts, defaultMaxCheckpointBytes } from "../../checkpoint/data/checkpointParts.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { StatusRecord, TaskRecord, TaskControls } from "../../checkpoint/records/runRecords.ts";
import type { StatusState } from "../../checkpoint/state/StatusState.ts";
import { encodeValue } from "../../checkpoint/values/valueCodec.ts";
import { CheckpointTooLargeError } from "../../errors/checkpointErrors.ts";
import { AlreadyExistsError } from "../../errors/storageErrors.ts";
import type { Clock } from "../../internal/Clock.ts";
import { KeyedMutex } from "../../internal/Mutex.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import { assertNewAgentId } from "../../internal/options/assertAgentId.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { forEachAtOnce } from "../../internal/together.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { type TaskLogs, firstAppend } from "./TaskLogs.ts";
import { openWithRetry } from "../../journal/openWithRetry.ts";
import { type RecordSource, runRecord } from "../../journal/runRecords.ts";
import { whileBusy } from "../../journal/shape/whileBusy.ts";
import type { NewAgent, RecordLog, OwnedLog } from "../../storage/RecordLog.ts";
import { processOwner } from "../../storage/ReleasableLog.ts";
import { type NewTask, newTaskSchema, type Task, type TaskWithStatus } from "../state/Task.ts";
import { readTask, storedTask } from "./storedTask.ts";
import { taskOrder } from "./taskOrder.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";

/** How long `create` waits for another owner of the id that has not stored a task yet, in milliseconds. */
const createTimeoutMs = 5_000;

/** The number of tasks that `createMany` creates at the same time if the storage creates them one by one. */
const createdAtOnce = 32;

/** A task that {@link TaskCreator.check} has accepted. */
interface CheckedTask extends NewTask {
  readonly taskId: string;
}

/** Stores new tasks. */
export class TaskCreator {
  readonly #logs: TaskLogs;
  readonly #maxInputBytes: number;
  readonly #locks: DuplicateLocks;
  /** `undefined` if the storage creates tasks one by one. */
  readonly #together: NewTasks | undefined;

  constructor(logs: TaskLogs, maxInputBytes = defaultMaxCheckpointBytes) {
    this.#logs = logs;
    this.#maxInputBytes = maxInputBytes;
    this.#locks = new DuplicateLocks(logs);
    const { log } = logs;
    this.#together = log.createMany && new NewTasks(log.createMany.bind(log));
  }

  /** @throws InvalidInputError, NotSerializableError, CheckpointTooLargeError */
  check(task: NewTask, subject = "new task"): CheckedTask {
    const given = checkSchema(newTaskSchema, task, subject) as NewTask;
    const { taskId = crypto.randomUUID(), deduplicationId } = given;
    assertNewAgentId(taskId);
    this.#assertInputFits(deduplicationId ?? taskId, given.inputRequest);
    return { ...given, taskId };
  }

  async createMany(tasks: readonly CheckedTask[]): Promise<Task[]> {
    const created: Task[] = [];
    const failures: unknown[] = [];
    const first = new Map(tasks.toReversed().map((task) => [task.taskId, task]));
    await forEachAtOnce([...tasks.entries()], this.#together ? storedTogether : createdAtOnce, async ([at, task]) => {
      try {
        if (first.get(task.taskId) !== task) throw new AlreadyExistsError("task_exists", task.taskId);
        created[at] = await this.create(task);
      } catch (error) {
        failures.push(error);
      }
    });
    if (failures.length > 0) throw failures[0];
    return created;
  }

  async create(task: CheckedTask): Promise<Task> {
    if (task.deduplicationId === undefined)
      return this.#traced(task.taskId, (trace) => this.#store(task.taskId, task, trace));
    const sha256 = await this.#logs.sha256();
    const ids = () => duplicateIds(task, this.#logs.clock.now(), sha256);
    if (task.deduplicationWindowMs === undefined) return this.#storeOnce(ids().taskId, task);
    return this.#locks.hold(duplicateLock(task, sha256), async (lost) => {
      // The window follows from the time at which this creator holds the lock.
      const { taskId, nearby } = ids();
      return (await this.#duplicate(nearby, task)) ?? (await this.#storeOnce(taskId, task, lost));
    });
  }

  /** Returns a task of a nearby window that was created less than a window ago. */
  async #duplicate(nearby: readonly string[], { deduplicationWindowMs = 0 }: NewTask): Promise<Task | undefined> {
    for (const taskId of nearby) {
      const life = await this.#logs.life(taskId);
      const ageMs = this.#logs.clock.now() - (life.createdAt ?? Number.NEGATIVE_INFINITY);
      if (Math.abs(ageMs) < deduplicationWindowMs) return this.#existing(taskId, life);
    }
    return undefined;
  }

  /** @param lost - aborts if another creator may store a duplicate. */
  async #storeOnce(taskId: string, task: NewTask, lost?: AbortSignal): Promise<Task> {
    const known = this.#together ? undefined : await this.#existing(taskId, await this.#logs.life(taskId));
    if (known) return known;
    lost?.throwIfAborted();
    return this.#traced(taskId, (trace) => this.#storeOrFind(taskId, task, trace));
  }

  async #storeOrFind(taskId: string, task: NewTask, trace: string | undefined): Promise<Task> {
    try {
      return await this.#store(taskId, task, trace);
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

  #traced(taskId: string, store: (trace: string | undefined) => Promise<Task>): Promise<Task> {
    const { telemetry } = this.#logs;
    return telemetry?.enqueue(taskId, ({ trace }) => store(trace)) ?? store(undefined);
  }

  async #store(taskId: string, task: NewTask, trace: string | undefined): Promise<TaskWithStatus<"queued">> {
    const added = this.#together && (await this.#addTo(this.#together, taskId, task, trace));
    return added ?? this.#append(taskId, task, trace);
  }

  /** Stores a task together with other tasks. Returns `undefined` if its input is large or its id was used before. */
  async #addTo(
    together: NewTasks,
    taskId: string,
    task: NewTask,
    trace: string | undefined,
  ): Promise<TaskWithStatus<"queued"> | undefined> {
    const first = await firstAppend(this.#logs, taskId, (source) => newTaskRecords(source, task, trace));
    if (first === undefined) return undefined;
    if (!(await together.add({ agentId: taskId, append: first.append }))) {
      // Reads the log without ownership first, because a worker may be running the task.
      assertUnused(taskId, await this.#logs.life(taskId));
      return undefined;
    }
    this.#logs.emitCreated(taskId, first.records);
    return this.#queued(taskId, first.statusState);
  }

  async #append(taskId: string, task: NewTask, trace?: string): Promise<TaskWithStatus<"queued">> {
    // The current owner may be a creator that has not stored its records yet.
    const assertNew = async () => assertUnused(taskId, await this.#logs.life(taskId));
    await using journal = await openWithRetry(this.#logs, taskId, createTimeoutMs, assertNew);
    assertUnused(taskId, journal.statusState);
    await journal.store(newTaskRecords(journal, task, trace));
    return this.#queued(taskId, journal.statusState);
  }

  #queued(taskId: string, state: StatusState): Promise<TaskWithStatus<"queued">> {
    return readTask(this.#logs.log, storedTask(taskId, state) as TaskWithStatus<"queued">);
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

function newTaskRecords(source: RecordSource, task: NewTask, trace: string | undefined): readonly AgentRecord[] {
  const run = runRecord(source, crypto.randomUUID(), task.inputRequest, trace);
  const queued: StatusRecord = { kind: "status", run: run.run, status: "queued", at: run.at };
  return [taskRecord(task, run.at), run, queued];
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

/** Returns the stored controls of a new task, or `undefined` if it has none. */
function newTaskControls(task: NewTask): TaskControls | undefined {
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

/** The number of tasks that are stored in one call. */
const storedTogether = 100;

interface Waiting extends NewAgent {
  readonly resolve: (created: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** Stores new tasks. All tasks that are added in one turn of the event loop are stored in one call of the storage. */
class NewTasks {
  readonly #create: NonNullable<RecordLog["createMany"]>;
  readonly #waiting: Waiting[] = [];

  /** @param create - stores up to {@link storedTogether} tasks. */
  constructor(create: NonNullable<RecordLog["createMany"]>) {
    this.#create = create;
  }

  /** Resolves to `false` if the id is in use or was used. */
  add(agent: NewAgent): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...agent, resolve, reject });
      if (this.#waiting.length === 1) void nextTurn().then(() => this.#store());
    });
  }

  async #store(): Promise<void> {
    const waiting = this.#waiting.splice(0, storedTogether);
    if (this.#waiting.length > 0) void nextTurn().then(() => this.#store());
    const first = new Map(waiting.toReversed().map((each) => [each.agentId, each]));
    const agents = [...first.values()];
    try {
      const created = await this.#create(agents);
      const results = new Map(agents.map((agent, at) => [agent, created[at] ?? false]));
      for (const each of waiting) {
        const result = results.get(each) ?? false;
        if (result instanceof Error) each.reject(result);
        else each.resolve(result);
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
}

/** How long a creator waits for a creator in another process. */
const lockTimeoutMs = 5_000;

/** Locks for tasks that can have duplicates. Only the holder of a lock looks for duplicates and stores its task. */
class DuplicateLocks {
  readonly #log: RecordLog;
  readonly #clock: Clock;
  readonly #turns = new KeyedMutex();

  constructor({ log, clock }: { readonly log: RecordLog; readonly clock: Clock }) {
    this.#log = log;
    this.#clock = clock;
  }

  /**
   * Calls `work` while this creator holds the lock. Calls `work` again if `work` throws because the lock was lost.
   * Creators of this process take turns.
   *
   * @throws AgentBusyError if another process holds the lock for seconds
   */
  hold<Result>(lockId: string, work: (lost: AbortSignal) => Promise<Result>): Promise<Result> {
    return this.#turns.runExclusive(lockId, () => this.#hold(lockId, work));
  }

  async #hold<Result>(lockId: string, work: (lost: AbortSignal) => Promise<Result>): Promise<Result> {
    for (;;) {
      const lock = await this.#own(lockId);
      try {
        return await work(lock.lost);
      } catch (error) {
        if (!lock.lost.aborted || error !== lock.lost.reason) throw error;
      } finally {
        await lock.release();
      }
    }
  }

  async #own(lockId: string): Promise<OwnedLog> {
    const open = () => this.#log.open(lockId, processOwner());
    const lock = await whileBusy(open, { clock: this.#clock, timeoutMs: lockTimeoutMs }, async () => false);
    return lock as OwnedLog;
  }
}

interface DuplicateIds {
  /** The id of the new task. */
  readonly taskId: string;
  /** The ids of tasks of the windows before and after. Empty without a window. */
  readonly nearby: readonly string[];
}

/**
 * Returns the ids that a task with a `deduplicationId` can have. Without a window, all duplicates have one id, so no
 * lock is needed to create the task exactly once. With a window, the id contains the number of the window, and a
 * duplicate may have the id of the previous or the next window.
 */
function duplicateIds(task: NewTask, now: number, sha256: Sha256): DuplicateIds {
  const { deduplicationWindowMs: windowMs } = task;
  const base = baseOf(task, sha256);
  if (windowMs === undefined) return { taskId: base, nearby: [] };
  const window = Math.floor(now / windowMs);
  const id = (number: number) => `${base}-${number}`;
  return { taskId: id(window), nearby: [id(window - 1), id(window + 1)] };
}

/**
 * Returns the id of the lock for duplicates in several windows. All tasks share 4,096 locks, because each lock is a log
 * that stays in the storage.
 */
function duplicateLock(task: NewTask, sha256: Sha256): string {
  return `lock-${baseOf(task, sha256).slice(0, lockNameLength)}`;
}

/** The length of the prefix and of two characters, each with 64 possible values. */
const lockNameLength = "once-".length + 2;

function baseOf({ queue = "", deduplicationId = "" }: NewTask, sha256: Sha256): string {
  return `once-${sha256.base64url(JSON.stringify([queue, deduplicationId]))}`;
}
