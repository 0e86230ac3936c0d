import { AsyncLocalStorage } from "node:async_hooks";
import type { AIAgent } from "../../agent/AIAgent.ts";
import { StatusChangedError } from "../../errors/runErrors.ts";
import { StorageError } from "../../errors/storageErrors.ts";
import { OtherStorageError, TooManyAttemptsError } from "../../errors/taskErrors.ts";
import { FileReservedError } from "../../errors/workspaceErrors.ts";
import { Bell } from "../../internal/Bell.ts";
import { addNewest } from "../../internal/deleteOldest.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import type { QueueRefusal, QueueTurn } from "../queue/QueueTurns.ts";
import { type ClaimableTask, isOvertaken, isUnreadable } from "../queue/claimableTasks.ts";
import { type FileReservations, type HeldReservation, InProcessReservations, releaseHeld } from "./FileReservations.ts";
import {
  agentForTask,
  claimedTask,
  type TaskOutcome,
  type TaskWorkerEvent,
  type TaskWorkerOptions,
  workerSchema,
  type WorkOptions,
  workSchema,
  assertDurable,
  safely,
} from "./TaskWorkerOptions.ts";
import { TaskBackoff, type AttemptLimits, isExpired, judgeAttempts } from "./TaskBackoff.ts";
import { StorageWatch } from "./StorageWatch.ts";
import { TaskLists } from "./TaskLists.ts";
import { mostReported, ScheduleTicker } from "./ScheduleTicker.ts";
import { followed, runTask, stopTask } from "./runTask.ts";

interface Shift {
  readonly stop: AbortSignal;
  /** Rings when a task may be available, and when a task of this worker has finished. */
  readonly bell: Bell;
  readonly left: TaskBackoff;
  /** Milliseconds until the next delayed task may start. `undefined` if no task is delayed. */
  waitMs: number | undefined;
  readonly watch: StorageWatch;
  /** The monotonic time of the first failed poll since the last success. `undefined` after a successful poll. */
  failedAtMs: number | undefined;
}

interface BegunTask {
  readonly task: ClaimableTask;
  readonly agent: AIAgent<never, unknown>;
  readonly held: readonly HeldReservation[];
  /** Aborts if the task may no longer run. */
  readonly lost: AbortSignal | undefined;
}

/** The worker whose `onOutcome` made the current call. */
const reporting = new AsyncLocalStorage<TaskWorker>();

/**
 * Runs tasks. Tasks that a dead process left in progress run first, then the queue by priority and age. Any number of
 * workers and processes may share one storage. Only the owner of a task's log runs the task, so no task runs twice at
 * the same time. The worker finds tasks by their summaries.
 *
 * @example
 * ```ts
 * const worker = new TaskWorker({ tasks, agents: { import: importer, review: reviewer }, concurrency: 4 });
 * const stop = new AbortController();
 * process.once("SIGTERM", () => stop.abort());
 * await worker.run({ signal: stop.signal, pollMs: 1_000 });
 * ```
 */
export class TaskWorker implements AsyncDisposable {
  readonly #options: TaskWorkerOptions;
  readonly #reservations: FileReservations;
  readonly #ticker: ScheduleTicker;
  readonly #concurrency: number;
  readonly #limits: AttemptLimits;
  readonly #running = new Map<string, Promise<void>>();
  /** The polls of each {@link run}. */
  readonly #looking = new Set<Promise<void>>();
  /** The number of running calls of `onOutcome`. Each one delays a task or a poll. */
  #reports = 0;
  /** Called when a task or a poll has finished or calls `onOutcome`. */
  readonly #pauses = new Set<() => void>();
  /**
   * Errors of the worker itself, such as an agent with another storage. After an error, the worker claims no more
   * tasks.
   */
  readonly #failures: unknown[] = [];
  /** Reported tasks whose names have no agent here. */
  readonly #skipped = new Set<string>();
  readonly #disposed = new AbortController();
  readonly #lists: TaskLists;

  /** @throws InvalidInputError. FeatureNotInstalledError for an agent without Persistence. */
  constructor(options: TaskWorkerOptions) {
    checkSchema(workerSchema, options, "options of the worker");
    assertDurable(options.agents);
    const { concurrency = 1, maxAttempts = 5, attemptDelayMs = 1_000 } = options;
    this.#options = options;
    this.#ticker = new ScheduleTicker(options.tasks);
    this.#lists = new TaskLists(options.tasks, Object.keys(options.queues ?? {}));
    this.#concurrency = concurrency;
    this.#limits = { maxAttempts, attemptDelayMs };
    this.#reservations = options.reservations ?? new InProcessReservations();
  }

  /**
   * Runs tasks until the worker has no more tasks or is stopped. Settles when every started task has finished. A failed
   * task does not reject the promise. With `pollMs`, a failure of the storage does not reject the promise either.
   *
   * @throws OtherStorageError if the storage of an agent differs from the storage of the tasks.
   * @throws TypeError if the worker was disposed.
   */
  async run(options: WorkOptions = {}): Promise<void> {
    checkSchema(workSchema, options, "options of run()");
    if (this.#disposed.signal.aborted) throw new TypeError("The worker was disposed. Create a new TaskWorker.");
    const { signal, pollMs } = options;
    const stop = signal ? AbortSignal.any([signal, this.#disposed.signal]) : this.#disposed.signal;
    const left = new TaskBackoff(this.#options.tasks.clock, pollMs);
    const bell = new Bell();
    const watch = new StorageWatch(() => this.#options.tasks.watch(bell.ring));
    const shift: Shift = { stop, bell, left, watch, waitMs: undefined, failedAtMs: undefined };
    stop.addEventListener("abort", bell.ring);
    const looking = this.#look(shift, pollMs).catch((error: unknown) => void this.#failures.push(error));
    this.#looking.add(looking);
    await looking.then(() => this.#looking.delete(looking));
    this.#notePause();
    await Promise.all(this.#running.values());
    stop.removeEventListener("abort", bell.ring);
    const failures = this.#failures.splice(0);
    if (failures.length > 0) throw failures[0];
  }

  async #look(shift: Shift, pollMs = Infinity): Promise<void> {
    const { stop, bell } = shift;
    try {
      while (!stop.aborted) {
        await this.#poll(shift, pollMs);
        const lookMs = Math.min(pollMs, shift.waitMs ?? Infinity);
        const isLast = this.#running.size === 0 && lookMs === Infinity && !bell.rang;
        if (this.#failures.length > 0 || isLast) return;
        await bell.heard(this.#options.tasks.clock, lookMs);
      }
    } finally {
      await this.#lists.clear();
      await shift.watch.close();
    }
  }

  /** Starts tasks. A polling worker survives a failed storage. */
  async #poll(shift: Shift, pollMs: number): Promise<void> {
    const { clock } = this.#options.tasks;
    // A later ring causes another poll.
    if (shift.bell.reset()) await this.#lists.clear();
    try {
      if (pollMs === Infinity) await shift.watch.start();
      else void this.#watchWhilePolling(shift, pollMs);
      for (const failure of await this.#ticker.tick()) void this.#tell({ type: "schedule_failed", ...failure });
      await this.#take(shift);
    } catch (error) {
      if (!(error instanceof StorageError) || pollMs === Infinity) throw error;
      shift.failedAtMs ??= clock.monotonic();
      void this.#tell({ type: "storage_failed", error, retryAfterMs: pollMs });
      return;
    }
    if (shift.failedAtMs === undefined) return;
    const outageMs = clock.monotonic() - shift.failedAtMs;
    shift.failedAtMs = undefined;
    void this.#tell({ type: "storage_recovered", outageMs });
  }

  /** Starts the watch. Does not delay the poll, because the poll finds tasks without the watch. */
  async #watchWhilePolling({ watch, bell }: Shift, pollMs: number): Promise<void> {
    try {
      // The watch did not report the tasks that were created before its start.
      if (await watch.start()) bell.ring();
    } catch (error) {
      if (error instanceof StorageError)
        return void this.#tell({ type: "storage_failed", error, retryAfterMs: pollMs });
      this.#failures.push(error);
      bell.ring();
    }
  }

  /**
   * Interrupts the running tasks. Resolves when these tasks, the current poll and all calls of `onOutcome` have
   * finished. If `onOutcome` calls this method, the promise does not wait for calls of `onOutcome`.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed.abort(new Error("The worker was disposed."));
    const own = () => (reporting.getStore() === this ? this.#reports : 0);
    while (this.#looking.size + this.#running.size > own())
      await new Promise<void>((resolve) => this.#pauses.add(resolve));
  }

  #notePause(): void {
    for (const resolve of this.#pauses) resolve();
    this.#pauses.clear();
  }

  async #take(shift: Shift): Promise<void> {
    shift.waitMs = undefined;
    for (const queue of this.#lists.queues) await this.#takeFrom(queue, shift);
  }

  async #takeFrom(queue: string | undefined, shift: Shift): Promise<void> {
    const fullKeys = new Set<string>();
    // A task that did not start may be able to start as soon as another one ends.
    let mustRead = this.#options.queues?.[queue ?? ""] !== undefined;
    if (!this.#takesMore(shift)) return;
    await this.#lists.offer(queue, fullKeys, async (task) => {
      if (!this.#takesMore(shift)) return "stop";
      const full = fullKeys.has(task.key ?? "") ? undefined : await this.#offer(task, shift);
      if (full === "key_full") fullKeys.add(task.key ?? "");
      // The next task of the list would take the turn of its key.
      if (full === "queue_full") return "stop";
      mustRead ||= !this.#running.has(task.taskId);
      if (this.#takesMore(shift)) return "next";
      return mustRead ? "stop" : "keep";
    });
  }

  /** Starts a task that this worker may start. Otherwise returns the limit that the task must wait for. */
  async #offer(task: ClaimableTask, shift: Shift): Promise<QueueRefusal["kind"] | undefined> {
    const agent = agentForTask(task, this.#options.agents);
    if (!agent) await this.#skip(task);
    else if (!this.#running.has(task.taskId) && !shift.left.has(task)) return this.#begin(task, agent, shift);
    return undefined;
  }

  #takesMore({ stop }: Shift): boolean {
    return !stop.aborted && this.#running.size < this.#concurrency && this.#failures.length === 0;
  }

  /** Starts a task. If the task must wait for a limit, returns this limit. */
  async #begin(
    task: ClaimableTask,
    agent: AIAgent<never, unknown>,
    shift: Shift,
  ): Promise<QueueRefusal["kind"] | undefined> {
    if (!(await this.#mayBegin(task, shift))) return undefined;
    const files = await this.#reserve(task, shift);
    if (!files) return undefined;
    const turn = await this.#takeTurn(task).catch(async (error: unknown): Promise<QueueRefusal> => {
      // If the log that limits the queue is damaged, the other queues continue.
      if (!(error instanceof StorageError) && isUnreadable(error)) {
        await this.#report({ ...claimedTask(task), outcome: "interrupted", error });
        shift.left.add(task.taskId, error, [task]);
        return { kind: "queue_full" };
      }
      await releaseHeld(task.taskId, files);
      throw error;
    });
    if (turn && turn.kind !== "granted") {
      await releaseHeld(task.taskId, files);
      shift.waitMs = Math.min(turn.waitMs ?? Infinity, shift.waitMs ?? Infinity);
      return turn.kind;
    }
    this.#start({ task, agent, held: turn ? [files, turn] : [files], lost: turn?.lost }, shift);
    return undefined;
  }

  /** Returns `undefined` for a task without a queue, or without limits. */
  async #takeTurn({ queue = "", key }: ClaimableTask): Promise<QueueTurn | QueueRefusal | undefined> {
    const limits = this.#options.queues?.[queue];
    return limits && this.#options.tasks.takeTurn({ queue, key }, limits);
  }

  /** Returns whether a task may start now. Fails a task with too many attempts, and cancels an expired task. */
  async #mayBegin(task: ClaimableTask, shift: Shift): Promise<boolean> {
    const { tasks } = this.#options;
    if (isExpired(task, tasks.clock.now())) {
      await this.#expire(task, shift);
      return false;
    }
    const verdict = judgeAttempts(task, this.#limits, tasks.clock.now());
    if (verdict.kind === "wait") shift.waitMs = Math.min(verdict.ms, shift.waitMs ?? Infinity);
    if (verdict.kind === "refuse")
      await this.#refuse(task, new TooManyAttemptsError(task.taskId, task.attempts), shift);
    return verdict.kind === "begin";
  }

  async #expire(task: ClaimableTask, shift: Shift): Promise<void> {
    try {
      await this.#options.tasks.expire(task.taskId);
      await this.#report({ ...claimedTask(task), outcome: "expired" });
    } catch (error) {
      if (isUnreadable(error)) await this.#report({ ...claimedTask(task), outcome: "interrupted", error });
      else if (!isOvertaken(error)) throw error;
      shift.left.add(task.taskId, error, [task]);
    }
  }

  #start(begun: BegunTask, shift: Shift): void {
    const { taskId } = begun.task;
    this.#lists.noteStart(begun.task);
    const work = this.#work(begun, shift)
      .catch((error: unknown) => void this.#failures.push(error))
      .then(async (isCompleted) => {
        for (const held of begun.held) await releaseHeld(taskId, held);
        this.#running.delete(taskId);
        this.#notePause();
        // A completed task adds no task that may start, so the lists stay valid.
        if (isCompleted === true) shift.bell.ringWithoutNews();
        else shift.bell.ring();
      });
    this.#running.set(taskId, work);
  }

  /** Returns whether the task completed, so that it cannot be in a list again. */
  async #work({ task, agent, lost }: BegunTask, shift: Shift): Promise<boolean> {
    const { tasks, verify } = this.#options;
    const { signal, end } = followed(lost ? [shift.stop, lost] : [shift.stop]);
    try {
      const outcome = await runTask({ tasks, task, agent, recovery: this.#options, signal, ...(verify && { verify }) });
      await this.#settle(task, outcome, shift);
      return outcome.outcome === "completed";
    } catch (error) {
      if (!isOvertaken(error)) throw error;
      if (error instanceof StatusChangedError && error.status === undefined) await this.#assertGone(task);
      // Another process claimed or changed the task first. A lagging list may show the old state for a while.
      shift.left.add(task.taskId, error, [task]);
      return false;
    } finally {
      end();
    }
  }

  async #settle(task: ClaimableTask, outcome: TaskOutcome, { stop, left }: Shift): Promise<void> {
    const { taskId } = task;
    // The clock of the agent may be behind, so that the timer of the task is not due for the agent.
    const stillWaits = outcome.outcome === "waiting" && task.status === "waiting";
    if (stillWaits) left.add(taskId, undefined, [task]);
    else if (outcome.outcome !== "interrupted") left.remove(taskId);
    else if (!stop.aborted) {
      const now = await this.#options.tasks.get(taskId).catch(() => undefined);
      left.add(taskId, outcome.error, [task, now ?? task]);
    }
    await this.#report(outcome);
  }

  /** Checks that a task unknown to the agent was deleted. @throws OtherStorageError if the task still exists */
  async #assertGone({ taskId, taskName }: ClaimableTask): Promise<void> {
    if (await this.#options.tasks.get(taskId).catch(ignoreOutage)) throw new OtherStorageError(taskId, taskName);
  }

  /** Reports a task without an agent once, so that users notice a misspelled name. */
  async #skip(task: ClaimableTask): Promise<void> {
    if (addNewest(this.#skipped, task.taskId, mostReported))
      await this.#report({ ...claimedTask(task), outcome: "skipped" });
  }

  /** Returns `undefined` while another task holds one of the files. */
  async #reserve(task: ClaimableTask, shift: Shift): Promise<HeldReservation | undefined> {
    const { taskId, reserves } = task;
    if (reserves.length === 0) return { release: async () => {} };
    try {
      return await this.#reservations.acquire(reserves, { owner: taskId, keepAlive: true });
    } catch (error) {
      if (!(error instanceof FileReservedError)) await this.#refuse(task, error, shift);
      return undefined;
    }
  }

  /** Fails a task with an impossible reservation. Delays a task after a storage failure. */
  async #refuse(task: ClaimableTask, error: unknown, shift: Shift): Promise<void> {
    try {
      await this.#settle(task, await stopTask(this.#options.tasks, task, error), shift);
    } catch (failed) {
      if (!isOvertaken(failed)) throw failed;
    }
  }

  async #report(outcome: TaskOutcome): Promise<void> {
    this.#reports++;
    this.#notePause();
    const tell = () => this.#options.onOutcome?.(outcome);
    await safely(`on task ${JSON.stringify(outcome.taskId)}`, () => reporting.run(this, tell));
    this.#reports--;
  }

  #tell(event: TaskWorkerEvent): Promise<void> {
    return safely(`on the event ${event.type}`, () => this.#options.onEvent?.(event));
  }
}

/** A task that is unreadable now may still exist. */
function ignoreOutage(error: unknown): undefined {
  if (!(error instanceof StorageError)) throw error;
}
