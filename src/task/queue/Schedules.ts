import { retryAt } from "../../checkpoint/state/StatusState.ts";
import { AgentCopiedError, AgentMovedError, InvalidAgentIdError, InvalidInputError } from "../../errors/agentErrors.ts";
import { CheckpointTooLargeError } from "../../errors/checkpointErrors.ts";
import { KeyMissingError } from "../../errors/encryptionErrors.ts";
import { AgentBusyError, OwnershipLostError, AlreadyExistsError, StorageError } from "../../errors/storageErrors.ts";
import { CorruptLogError, NotSerializableError, UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { ScheduleNotFoundError, TaskNotFoundError, TransitionNotAllowedError } from "../../errors/taskErrors.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { custodyError } from "../../journal/assertCustody.ts";
import { dropUnread } from "../../journal/shape/KeptLogs.ts";
import { logIdOf } from "../../journal/shape/ShapeDefinition.ts";
import { listShape, readShape } from "../../journal/shape/readShape.ts";
import { ShapedLog } from "../../journal/shape/ShapedLog.ts";
import { isAboutOneAgent, isOwned } from "../../storage/summaries.ts";
import { whileBusy } from "../../journal/shape/whileBusy.ts";
import {
  cronOf,
  type NewSchedule,
  newScheduleSchema,
  type Schedule,
  scheduleId as idSchema,
  type ScheduleRecord,
  scheduleShape,
  type ScheduleState,
  planTicks,
  withMissed,
} from "./Schedule.ts";
import type { NewTask, Task } from "../state/Task.ts";
import { ifReadable, isUnreadable } from "./claimableTasks.ts";
import { storeAndPrune } from "./QueueTurns.ts";
import type { TaskCreator } from "./TaskCreator.ts";
import type { TaskLogs } from "./TaskLogs.ts";
import type { InterruptTaskOptions } from "./TaskManagerOptions.ts";

/** A schedule whose due ticks are undecided because of an error. The next `tick()` tries again. */
export interface ScheduleFailure {
  readonly scheduleId: string;
  readonly error: unknown;
}

type ScheduleLog = ShapedLog<ScheduleRecord, ScheduleState>;

const openTimeoutMs = 10_000;
/** How long a tick waits for the end of the task that the tick cancels. After this time, the next poll tries again. */
const cancelTimeoutMs = 1_000;
/** The maximum number of ticks that wait for a task to end. Further ticks are missed. */
const mostWaiting = 1_000;

interface CancelsTasks {
  cancel(taskId: string, reason: string, options: InterruptTaskOptions): Promise<unknown>;
}

/**
 * Starts a task at each tick of a schedule. The owner of the schedule's log decides about a tick, and the id of the
 * task contains the time of the tick. So each tick starts at most one task, even with many workers.
 */
export class Schedules {
  readonly #logs: TaskLogs;
  readonly #creator: TaskCreator;
  readonly #tasks: CancelsTasks;

  constructor(logs: TaskLogs, creator: TaskCreator, tasks: CancelsTasks) {
    this.#logs = logs;
    this.#creator = creator;
    this.#tasks = tasks;
  }

  /** Creates a schedule, or changes the schedule with this id. See `TaskManager.schedule`. */
  async set(given: NewSchedule): Promise<Schedule> {
    const {
      scheduleId,
      cron,
      timezone = "UTC",
      overlap = "skip",
      catchUp = "latest",
      inputRequest,
      ...rest
    } = checkSchema(newScheduleSchema, given, "new schedule") as NewSchedule;
    this.#creator.check({ ...rest, inputRequest, taskId: scheduleId }, "new schedule");
    return this.#use(scheduleId, async (log) => {
      const known = log.state.current;
      const keepsTicks = known?.cron === cron && known.timezone === timezone;
      const changed: ScheduleRecord = withoutUndefined({
        ...(known ?? { kind: "schedule" as const, missedCount: 0, missed: [], waiting: [] }),
        cron,
        timezone,
        overlap,
        catchUp,
        task: withoutUndefined(rest),
        input: log.value(inputRequest, "the input of the scheduled task"),
        next: keepsTicks ? known.next : nextTick({ cron, timezone }, this.#logs.clock.now()),
      });
      if (!known || !isSameValue(known, changed)) await log.store([changed]);
      return this.#shown(scheduleId, changed, inputRequest);
    });
  }

  /** Lists the schedules, by the time of their last change. Omits unreadable schedules, for which `get` rejects. */
  async *list(): AsyncGenerator<Schedule> {
    for (const scheduleId of await this.#ids({})) {
      const schedule = await ifReadable(() => this.get(scheduleId));
      if (schedule) yield schedule;
    }
  }

  /** Returns a schedule, or `undefined` for an unknown id. */
  async get(scheduleId: string): Promise<Schedule | undefined> {
    checkSchema(idSchema, scheduleId, "id of a schedule");
    const view = await readShape(scheduleShape, { log: this.#logs.log, id: scheduleId });
    const { current } = view.state;
    if (!current) return undefined;
    const [input] = await view.read([current.input]);
    return this.#shown(scheduleId, current, input);
  }

  /** Stops the ticks of a schedule. @throws ScheduleNotFoundError */
  pause(scheduleId: string): Promise<Schedule> {
    return this.#change(scheduleId, (known) => ({ ...known, paused: true }));
  }

  /** Continues with the next tick from now. @throws ScheduleNotFoundError */
  resume(scheduleId: string): Promise<Schedule> {
    return this.#change(scheduleId, ({ paused, next: _next, ...known }) =>
      withoutUndefined({ ...known, next: paused ? nextTick(known, this.#logs.clock.now()) : _next }),
    );
  }

  /** Starts a task of a schedule now, independently of its ticks. @throws ScheduleNotFoundError */
  async runNow(scheduleId: string): Promise<Task> {
    checkSchema(idSchema, scheduleId, "id of a schedule");
    const view = await readShape(scheduleShape, { log: this.#logs.log, id: scheduleId });
    const { current } = view.state;
    if (!current) throw new ScheduleNotFoundError(scheduleId);
    const [inputRequest] = await view.read([current.input]);
    return this.#create({ ...current.task, inputRequest, taskId: `${scheduleId}@now-${crypto.randomUUID()}` });
  }

  /** Deletes a schedule, even if it is damaged. Its tasks stay. @throws ScheduleNotFoundError */
  async delete(scheduleId: string): Promise<void> {
    try {
      await this.#use(scheduleId, async (log) => {
        if (!log.state.current) throw new ScheduleNotFoundError(scheduleId);
        await log.drop();
      });
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      await dropUnread(this.#logs.log, logIdOf(scheduleShape, scheduleId));
    }
  }

  /**
   * Decides about all due ticks. Workers call this method at each poll. An error of one schedule does not stop the
   * other schedules.
   *
   * @returns the schedules whose ticks are undecided because of an error.
   * @throws StorageError if the storage is unavailable.
   */
  async tick(): Promise<readonly ScheduleFailure[]> {
    const dueBefore = new Date(this.#logs.clock.now()).toISOString();
    const failures: ScheduleFailure[] = [];
    for (const scheduleId of await this.#ids({ dueBefore, free: true })) {
      try {
        await this.#tickOne(scheduleId);
      } catch (error) {
        if (error instanceof StorageError && !isAboutOneAgent(error)) throw error;
        // Another worker decides about these ticks, or the task to cancel is still running.
        if (error instanceof AgentBusyError || error instanceof OwnershipLostError) continue;
        failures.push({ scheduleId, error });
      }
    }
    return failures;
  }

  async #tickOne(scheduleId: string): Promise<void> {
    if (await this.#isHeld(scheduleId)) return;
    await using log = await this.#open(scheduleId);
    const { current } = log.state;
    if (!current || current.paused) return;
    const { runs, missed, next } = planTicks(current, this.#logs.clock.now());
    let state: ScheduleRecord = { ...current, ...withMissed(current, missed, "late") };
    for (const tick of current.waiting) {
      const undecided = withoutUndefined({ ...state, next: runs[0] ?? next });
      state = await this.#decide(log, undecided, { tick, isWaiting: true });
      // The other waiting ticks wait for the same task.
      if (state === undecided) break;
    }
    for (const [at, tick] of runs.entries()) {
      const undecided = withoutUndefined({ ...state, next: runs[at + 1] ?? next });
      state = await this.#decide(log, undecided, { tick, isWaiting: false });
    }
    const { next: _next, starting: _starting, ...rest } = state;
    const after: ScheduleRecord = withoutUndefined({ ...rest, next });
    if (!isSameValue(after, current)) await storeAndPrune(log, after);
  }

  /**
   * Returns whether the only due ticks wait for an unfinished task. Reads without ownership, because each release wakes
   * all workers.
   */
  async #isHeld(scheduleId: string): Promise<boolean> {
    const { current } = (await readShape(scheduleShape, { log: this.#logs.log, id: scheduleId })).state;
    if (!current || current.starting || current.waiting.length === 0) return false;
    const isDue = current.next !== undefined && current.next <= this.#logs.clock.now();
    return !isDue && current.overlap !== "cancel" && (await isUnfinished(this.#logs, current.lastTaskId));
  }

  /** Returns the schedule after a tick. */
  async #decide(
    log: ScheduleLog,
    state: ScheduleRecord,
    { tick, isWaiting }: { readonly tick: number; readonly isWaiting: boolean },
  ): Promise<ScheduleRecord> {
    const { id: scheduleId } = log;
    const lastTaskId = `${scheduleId}@${new Date(tick).toISOString()}`;
    const { lastTaskId: before, overlap, waiting } = state;
    const isFree = before === lastTaskId || !(await isUnfinished(this.#logs, before));
    if (!isFree && overlap === "skip" && !isWaiting) return { ...state, ...withMissed(state, [tick], "overlap") };
    if (!isFree && overlap !== "cancel") {
      if (isWaiting) return state;
      if (waiting.length >= mostWaiting) return { ...state, ...withMissed(state, [tick], "overlap") };
      return { ...state, waiting: [...waiting, tick] };
    }
    if (!isFree && before !== undefined) await this.#cancel(before, scheduleId);
    const left = waiting.filter((other) => other !== tick);
    const started: ScheduleRecord = { ...state, last: tick, lastTaskId, starting: true, waiting: left };
    // An owner that has lost the schedule must not start a task, because the next owner may decide otherwise.
    await storeAndPrune(log, started);
    if (await this.#start(log, started)) return started;
    return { ...state, waiting: left, ...withMissed(state, [tick], "refused") };
  }

  async #create(task: NewTask): Promise<Task> {
    return this.#creator.create(this.#creator.check(task));
  }

  /** Cancels a task for a newer tick of its schedule. Does nothing if the task no longer runs here. */
  async #cancel(taskId: string, scheduleId: string): Promise<void> {
    const reason = `A newer tick of the schedule ${JSON.stringify(scheduleId)} is due.`;
    try {
      await this.#tasks.cancel(taskId, reason, { timeoutMs: cancelTimeoutMs });
    } catch (error) {
      if (!endedKinds.some((kind) => error instanceof kind) && !isDamaged(error)) throw error;
    }
  }

  /** Creates the task of the last tick. Returns `false` if this task can never be created. */
  async #start(log: ScheduleLog, { task, input, lastTaskId }: ScheduleRecord): Promise<boolean> {
    try {
      const [inputRequest] = await log.read([input]);
      await this.#create({ ...task, inputRequest, taskId: lastTaskId });
      return true;
    } catch (error) {
      // A worker that was killed before it recorded the start has created the task.
      if (error instanceof AlreadyExistsError) return true;
      if (!isTaskRefused(error)) throw error;
      return false;
    }
  }

  /** Starts the task of a killed owner. */
  async #restart(log: ScheduleLog, { starting: _starting, ...state }: ScheduleRecord): Promise<void> {
    const isCreated = await this.#start(log, state);
    const { last = 0, lastTaskId: _refused, ...rest } = state;
    await log.store([isCreated ? state : { ...rest, ...withMissed(rest, [last], "refused") }]);
  }

  async #change(scheduleId: string, changed: (known: ScheduleRecord) => ScheduleRecord): Promise<Schedule> {
    return this.#use(scheduleId, async (log) => {
      const { current } = log.state;
      if (!current) throw new ScheduleNotFoundError(scheduleId);
      const after = changed(current);
      await log.store([after]);
      const [input] = await log.read([after.input]);
      return this.#shown(scheduleId, after, input);
    });
  }

  async #use<Result>(scheduleId: string, work: (log: ScheduleLog) => Promise<Result>): Promise<Result> {
    checkSchema(idSchema, scheduleId, "id of a schedule");
    const { clock } = this.#logs;
    const open = () => this.#open(scheduleId);
    await using log = await whileBusy(open, { clock, timeoutMs: openTimeoutMs }, async () => false);
    return await work(log as ScheduleLog);
  }

  /** Owns a schedule. If the previous owner was killed while it started a task, starts that task. */
  async #open(scheduleId: string): Promise<ScheduleLog> {
    const { storage, clock } = this.#logs;
    const log = await ShapedLog.open(scheduleShape, { storage, id: scheduleId, clock });
    try {
      const { current } = log.state;
      if (current?.starting) await this.#restart(log, current);
      return log;
    } catch (error) {
      await log[Symbol.asyncDispose]().catch(() => undefined);
      throw error;
    }
  }

  /** Returns the ids of schedules. Reads the whole list first, because a tick changes the list. */
  async #ids(selection: { readonly dueBefore?: string; readonly free?: true }): Promise<readonly string[]> {
    const ids: string[] = [];
    for await (const { id } of listShape(scheduleShape, this.#logs.log, selection)) ids.push(id);
    return ids;
  }

  #shown(scheduleId: string, state: ScheduleRecord, inputRequest: unknown): Schedule {
    const { cron, timezone, overlap, catchUp, task, paused, next, last, lastTaskId, missedCount, missed, waiting } =
      state;
    const iso = (at: number | undefined) => (at === undefined ? undefined : new Date(at).toISOString());
    return {
      scheduleId,
      cron,
      timezone,
      overlap,
      catchUp,
      taskName: task.taskName,
      inputRequest,
      paused: paused === true,
      nextAt: iso(next),
      lastAt: iso(last),
      lastTaskId,
      missedCount,
      missed,
      waiting: waiting.map((at) => new Date(at).toISOString()),
    };
  }
}

function nextTick({ cron, timezone }: Pick<ScheduleRecord, "cron" | "timezone">, now: number): number | undefined {
  return cronOf(cron, timezone).nextRun(new Date(now))?.getTime();
}

/** Returns whether a task runs or will run here. `false` for an unreadable task and a task of another storage. */
async function isUnfinished(logs: TaskLogs, taskId: string | undefined): Promise<boolean> {
  if (taskId === undefined) return false;
  try {
    const life = await logs.life(taskId);
    const { current, task } = life;
    if (!task || !current || custodyError(taskId, life)) return false;
    if (current.status === "failed") return retryAt(life) !== undefined;
    return current.status !== "completed" && current.status !== "cancelled";
  } catch (error) {
    if (!isDamaged(error)) throw error;
    return isOwned(logs.log, taskId);
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
function isTaskRefused(error: unknown): boolean {
  if (error instanceof StorageError) return false;
  return refusals.some((kind) => error instanceof kind) || isUnreadable(error);
}
