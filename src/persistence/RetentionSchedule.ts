import { z } from "zod";
import { AIAgent } from "../agent/AIAgent.ts";
import { type Clock, systemClock } from "../internal/Clock.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { clockSchema, customText, functionSchema, nonEmptyString } from "../internal/options/optionSchemas.ts";
import { persistence } from "./Persistence.ts";
import type { PrunableAgents, PruningSchedule } from "./config/PersistenceConfig.ts";
import { Cron } from "croner";
import { statfs } from "node:fs/promises";

export interface RetentionScheduleOptions {
  /**
   * A cron expression of five fields (minute, hour, day of the month, month, day of the week) in local time, or a
   * nickname such as `@weekly`. `false` disables pruning by time. Defaults to `"0 3 * * *"`, daily at 03:00.
   */
  readonly schedule?: string | false | undefined;
  /** Returns the used fraction of the disk, from 0 to 1, such as `diskUsage(directory)`. Defaults to no check. */
  readonly diskUsage?: (() => number | PromiseLike<number>) | undefined;
  /** Prunes if the disk usage exceeds this fraction. Defaults to 0.8. */
  readonly diskUsageAbove?: number | undefined;
  /** How often the schedule reads the disk usage and the clock, in milliseconds. Defaults to five minutes. */
  readonly checkEveryMs?: number | undefined;
  /** Defaults to the system clock. */
  readonly clock?: Clock | undefined;
}

const defaultSchedule = "0 3 * * *";

/** The maximum number of scheduled times that wait for a running pruning. Further times are skipped. */
const mostWaiting = 2;

const optionsSchema = strictOptions(() => ({
  schedule: customText('a cron expression of five fields such as "0 3 * * *", or false', isSchedule).optional(),
  diskUsage: functionSchema().optional(),
  diskUsageAbove: z.number().gt(0).max(1).optional(),
  checkEveryMs: z
    .number()
    .min(1)
    .max(2 ** 31 - 1)
    .optional(),
  clock: clockSchema.optional(),
}));

/** Parses a cron expression, without a timer. @throws Error for an invalid expression. */
function cronOf(expression: string): Cron {
  return new Cron(expression, { mode: "5-part" });
}

function isSchedule(value: unknown): boolean {
  if (value === false) return true;
  if (typeof value !== "string") return false;
  try {
    const cron = cronOf(value);
    // The library also accepts a date, which matches only once.
    return cron.getOnce() === null && cron.nextRun(new Date(0)) !== null;
  } catch {
    return false;
  }
}

/**
 * Prunes all agents of a storage by the agent's retention policy, at the times of a cron expression. Also prunes once
 * each time that the disk usage rises above the limit. Call {@link start} to start the schedule. The timers do not keep
 * the process alive. An error is emitted as `pruning_failed`, and the schedule continues.
 *
 * @example
 * ```ts
 * const schedule = new RetentionSchedule(agent, { schedule: "@weekly", diskUsage: diskUsage("/var/lib/agents") });
 * schedule.start();
 * // At shutdown:
 * await schedule[Symbol.asyncDispose]();
 * ```
 */
export class RetentionSchedule implements AsyncDisposable {
  readonly #agents: PrunableAgents;
  readonly #options: RetentionScheduleOptions;
  readonly #clock: Clock;
  readonly #cron: Cron | undefined;
  readonly #diskUsageAbove: number;
  readonly #checkEveryMs: number;
  #state: "new" | "started" | "disposed" = "new";
  #cancel = (): void => {};
  #dueAt = Infinity;
  #diskWasFull = false;
  #pending = 0;
  #work = Promise.resolve();

  /** @param agent The agent whose storage is pruned. @throws InvalidInputError @throws FeatureNotInstalledError */
  constructor(agent: AIAgent<never, unknown> | PrunableAgents, options: RetentionScheduleOptions = {}) {
    checkSchema(optionsSchema, options, "options of the retention schedule");
    const { schedule = defaultSchedule, diskUsageAbove = 0.8, checkEveryMs = 5 * 60 * 1000 } = options;
    this.#agents = agent instanceof AIAgent ? persistence(agent) : agent;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#cron = schedule === false ? undefined : cronOf(schedule);
    this.#diskUsageAbove = diskUsageAbove;
    this.#checkEveryMs = checkEveryMs;
  }

  /** Starts the schedule. A second call has no effect. @throws TypeError after the schedule was disposed. */
  start(): void {
    if (this.#state === "disposed") throw new TypeError("This schedule was disposed; create a new one.");
    if (this.#state === "started") return;
    this.#state = "started";
    this.#setDue();
    this.#wait();
  }

  /** Stops the schedule and waits for a running pruning. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#state = "disposed";
    this.#cancel();
    await this.#work;
  }

  #wait(): void {
    const ms = Math.max(1, Math.min(this.#checkEveryMs, this.#dueAt - this.#clock.now()));
    this.#cancel = this.#clock.after(ms, () => this.#look(), true);
  }

  /** Computes the next time at each check, because the clock may be changed. */
  #look(): void {
    const isDue = this.#clock.now() >= this.#dueAt;
    this.#setDue();
    this.#wait();
    if (this.#pending > (isDue ? mostWaiting : 0)) return;
    this.#pending++;
    this.#work = this.#work.then(() => this.#pruneIf(isDue)).finally(() => this.#pending--);
  }

  async #pruneIf(isDue: boolean): Promise<void> {
    try {
      if (isDue || (await this.#hasFilled())) await this.#prune();
    } catch (error) {
      this.#report(this.#agents.agentId, error);
    }
  }

  /** Returns whether the disk has become too full since the last check. */
  async #hasFilled(): Promise<boolean> {
    const usage = await this.#options.diskUsage?.();
    const before = this.#diskWasFull;
    this.#diskWasFull = usage !== undefined && usage > this.#diskUsageAbove;
    return this.#diskWasFull && !before;
  }

  async #prune(): Promise<void> {
    const { failed, pruned } = await this.#agents.prune();
    for (const { agentId, error } of failed) this.#report(agentId, error);
    for (const { agentId, outstanding } of pruned) if (outstanding !== undefined) this.#report(agentId, outstanding);
  }

  #report(agentId: string, error: unknown): void {
    this.#agents.tell({ type: "pruning_failed", agentId, error });
  }

  #setDue(): void {
    this.#dueAt = this.#cron?.nextRun(new Date(this.#clock.now()))?.getTime() ?? Infinity;
  }
}

/**
 * Creates a {@link RetentionSchedule} for `install(Persistence, { retentionSchedule })`. The schedule starts with the
 * installation and ends with the process. It does not keep the process alive.
 *
 * @throws InvalidInputError
 */
export function retentionSchedule(options: RetentionScheduleOptions = {}): PruningSchedule {
  checkSchema(optionsSchema, options, "options of the retention schedule");
  return { start: (agents) => new RetentionSchedule(agents, options).start() };
}

const argumentsSchema = z.object({ directory: nonEmptyString });

/**
 * Returns a function that measures the used fraction of the disk of a directory, from 0 to 1. As in `df`, space
 * reserved for the system counts as used. Use it for `diskUsage` of a {@link RetentionSchedule}.
 *
 * @throws InvalidInputError
 */
export function diskUsage(directory: string): () => Promise<number> {
  checkSchema(argumentsSchema, { directory }, "disk to measure");
  return async () => {
    const { blocks, bfree, bavail } = await statfs(directory);
    const used = blocks - bfree;
    return used === 0 ? 0 : used / (used + bavail);
  };
}
