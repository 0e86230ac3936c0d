import { z } from "zod";
import type { AIAgent } from "../../agent/AIAgent.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { customSchema, clockSchema, functionSchema } from "../../internal/options/optionSchemas.ts";
import { systemClock, type Clock } from "../../internal/Clock.ts";
import type { PersistenceFeature } from "../../persistence/PersistenceFeature.ts";
import { persistence } from "../../persistence/Persistence.ts";
import { nextTimeOfDay } from "./nextTimeOfDay.ts";

/** When a schedule prunes. */
export interface RetentionScheduleOptions {
  /** The time of day, by local time. `false`: never by the time of day. Default `"03:00"`. */
  readonly dailyAt?: string | false | undefined;
  /** Tells how full the disk is, from 0 to 1, such as `diskUseOf(directory)`. Absent: nothing is pruned because of that. */
  readonly diskUse?: (() => number | PromiseLike<number>) | undefined;
  /** Above this the disk is too full. Default 0.8. */
  readonly diskUseAbove?: number | undefined;
  /** How often it looks at the disk and at the time of day, in milliseconds. Default five minutes. */
  readonly checkEveryMs?: number | undefined;
  /** Default: that of the machine. */
  readonly clock?: Clock | undefined;
}

const optionsSchema = z.object({
  dailyAt: customSchema('a time of day from "00:00" to "23:59", or false', isTimeOfDay).optional(),
  diskUse: functionSchema().optional(),
  diskUseAbove: z.number().gt(0).max(1).optional(),
  checkEveryMs: z
    .number()
    .min(1)
    .max(2 ** 31 - 1)
    .optional(),
  clock: clockSchema.optional(),
});

function isTimeOfDay(value: unknown): boolean {
  return value === false || (typeof value === "string" && /^([01]\d|2[0-3]):[0-5]\d$/.test(value));
}

/**
 * Prunes the agents of a storage by the agent's retention policy: daily, and when the disk has become too full. A disk that
 * stays too full is no further reason until it was not. Begins with {@link start} and prunes nothing at that moment; its
 * timers keep no process alive. What goes wrong is told as `pruning_failed`, and the schedule goes on.
 */
export class RetentionSchedule implements AsyncDisposable {
  readonly #feature: PersistenceFeature;
  readonly #options: RetentionScheduleOptions;
  readonly #clock: Clock;
  readonly #diskUseAbove: number;
  readonly #checkEveryMs: number;
  #state: "new" | "started" | "disposed" = "new";
  #cancel = (): void => {};
  #dueAt = Number.POSITIVE_INFINITY;
  #diskWasFull = false;
  #pending = 0;
  #work = Promise.resolve();

  /**
   * @param agent its storage is pruned, whole.
   * @throws InvalidInputError for a number or a time of day that cannot be meant.
   */
  constructor(agent: AIAgent<never, unknown>, options: RetentionScheduleOptions = {}) {
    checkSchema(optionsSchema, options, "options of the retention schedule");
    const { diskUseAbove = 0.8, checkEveryMs = 5 * 60 * 1000, clock = systemClock } = options;
    this.#feature = persistence(agent);
    this.#options = options;
    this.#clock = clock;
    this.#diskUseAbove = diskUseAbove;
    this.#checkEveryMs = checkEveryMs;
    this.#setDue();
  }

  /** Begins. Once is enough. @throws TypeError after it was disposed. */
  start(): void {
    if (this.#state === "disposed") throw new TypeError("This schedule was disposed; make a new one.");
    if (this.#state === "started") return;
    this.#state = "started";
    this.#setDue();
    this.#wait();
  }

  /** Stops, and waits for what is being pruned. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#state = "disposed";
    this.#cancel();
    await this.#work;
  }

  #wait(): void {
    const ms = Math.max(1, Math.min(this.#checkEveryMs, this.#dueAt - this.#clock.now()));
    this.#cancel = this.#clock.after(ms, () => this.#look(), true);
  }

  /** The time is asked for again each time: a clock may have been set meanwhile. */
  #look(): void {
    const daily = this.#clock.now() >= this.#dueAt;
    this.#setDue();
    this.#wait();
    // The next look is soon enough for the disk, not for the time of day.
    if (!daily && this.#pending > 0) return;
    this.#pending++;
    this.#work = this.#work.then(() => this.#pruneIf(daily)).finally(() => this.#pending--);
  }

  async #pruneIf(daily: boolean): Promise<void> {
    try {
      if (daily || (await this.#hasFilled())) await this.#prune();
    } catch (error) {
      this.#tell(this.#feature.agentId, error);
    }
  }

  /** Whether the disk has become too full since the last look. */
  async #hasFilled(): Promise<boolean> {
    const use = await this.#options.diskUse?.();
    const before = this.#diskWasFull;
    this.#diskWasFull = use !== undefined && use > this.#diskUseAbove;
    return this.#diskWasFull && !before;
  }

  async #prune(): Promise<void> {
    const { failed, pruned } = await this.#feature.prune();
    for (const { agentId, error } of failed) this.#tell(agentId, error);
    for (const { agentId, outstanding } of pruned) if (outstanding !== undefined) this.#tell(agentId, outstanding);
  }

  #tell(agentId: string, error: unknown): void {
    this.#feature.tell({ kind: "pruning_failed", agentId, error });
  }

  #setDue(): void {
    const { dailyAt = "03:00" } = this.#options;
    if (dailyAt !== false) this.#dueAt = nextTimeOfDay(dailyAt, this.#clock.now());
  }
}
