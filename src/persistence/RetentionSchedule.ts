import { z } from "zod";
import { AIAgent } from "../agent/AIAgent.ts";
import { type Clock, systemClock } from "../internal/Clock.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { clockSchema, customSchema, functionSchema, nonEmptyString } from "../internal/options/optionSchemas.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";
import { persistence } from "./Persistence.ts";
import type { PrunableAgents, PruningSchedule } from "./config/PersistenceConfig.ts";
import { Cron } from "croner";
import { statfs } from "node:fs/promises";

/** When a schedule prunes. */
export interface RetentionScheduleOptions {
  /**
   * A cron expression of five fields (minute, hour, day of the month, month, day of the week), or a nickname such as
   * `@weekly`, in local time. `false`: no pruning by time. Default `"0 3 * * *"`: daily at 03:00.
   */
  readonly schedule?: string | false | undefined;
  /** Returns how full the disk is, from 0 to 1, such as `diskUsage(directory)`. Absent: no pruning by disk usage. */
  readonly diskUsage?: (() => number | PromiseLike<number>) | undefined;
  /** The disk is too full above this usage. Default 0.8. */
  readonly diskUsageAbove?: number | undefined;
  /** How often the schedule reads the disk usage and the clock, in milliseconds. Default five minutes. */
  readonly checkEveryMs?: number | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
}

const defaultSchedule = "0 3 * * *";

/** How many scheduled times may wait for a pruning in progress; further ones are skipped. The disk is read at the next look. */
const mostWaiting = 2;

const optionsSchema = strictOptions({
  schedule: customSchema('a cron expression of five fields such as "0 3 * * *", or false', isSchedule).optional(),
  diskUsage: functionSchema().optional(),
  diskUsageAbove: z.number().gt(0).max(1).optional(),
  checkEveryMs: z
    .number()
    .min(1)
    .max(2 ** 31 - 1)
    .optional(),
  clock: clockSchema.optional(),
});

/** Computes times only: a `Cron` without a function starts no timer. @throws for an expression that it cannot parse. */
function cronOf(expression: string): Cron {
  return new Cron(expression, { mode: "5-part" });
}

function isSchedule(value: unknown): boolean {
  if (value === false) return true;
  if (typeof value !== "string") return false;
  try {
    const cron = cronOf(value);
    // Croner takes a date, too: it matches once.
    return cron.getOnce() === null && cron.nextRun(new Date(0)) !== null;
  } catch {
    return false;
  }
}

/**
 * Prunes all agents of a storage by the agent's retention policy, at the times of a cron expression and when the disk
 * becomes too full. A disk that stays too full is pruned once, and again only after its usage has fallen. The schedule
 * begins with {@link start}, which prunes nothing itself. Its timers keep no process alive. An error is emitted as
 * `pruning_failed`, and the schedule continues.
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
  #dueAt = Number.POSITIVE_INFINITY;
  #diskWasFull = false;
  #pending = 0;
  #work = Promise.resolve();

  /**
   * @param agent all agents in its storage are pruned.
   * @throws InvalidInputError; FeatureNotInstalledError for an agent without Persistence.
   */
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

  /** Starts the schedule; a second call does nothing. @throws TypeError after the schedule was disposed. */
  start(): void {
    if (this.#state === "disposed") throw new TypeError("This schedule was disposed; create a new one.");
    if (this.#state === "started") return;
    this.#state = "started";
    this.#setDue();
    this.#wait();
  }

  /** Stops the schedule and waits for a pruning in progress. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#state = "disposed";
    this.#cancel();
    await this.#work;
  }

  #wait(): void {
    const ms = Math.max(1, Math.min(this.#checkEveryMs, this.#dueAt - this.#clock.now()));
    this.#cancel = this.#clock.after(ms, () => this.#look(), true);
  }

  /** Computes the next time at each look, because the clock may have been set. */
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

  /** Whether the disk became too full since the last look. */
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
    this.#dueAt = this.#cron?.nextRun(new Date(this.#clock.now()))?.getTime() ?? Number.POSITIVE_INFINITY;
  }
}

/**
 * A {@link RetentionSchedule} for `install(Persistence, { retentionSchedule })`: it starts with the installation, and ends with
 * the process, which it does not keep alive.
 *
 * @throws InvalidInputError
 */
export function retentionSchedule(options: RetentionScheduleOptions = {}): PruningSchedule {
  checkSchema(optionsSchema, options, "options of the retention schedule");
  return { start: (agents) => new RetentionSchedule(agents, options).start() };
}

const argumentsSchema = z.object({ directory: nonEmptyString });

/**
 * Returns a function that measures how full the disk of a directory is, from 0 to 1. Space that is reserved for the system
 * counts as used, as in `df`. For `diskUsage` of a {@link RetentionSchedule}.
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
