import { z } from "zod";
import { count, time } from "../../checkpoint/format/fieldTests.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import { AgentBusyError, OwnershipLostError } from "../../errors/storageErrors.ts";
import type { Clock } from "../../internal/Clock.ts";
import { integerFrom } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";
import { ShapeViews } from "../../journal/shape/readShape.ts";
import type { ShapeDefinition, ShapeState } from "../../journal/shape/ShapeDefinition.ts";
import { ShapedLog } from "../../journal/shape/ShapedLog.ts";
import type { LogStorage } from "../../storage/PersistenceStorageProvider.ts";
import type { OwnedLog, RecordLog } from "../../storage/RecordLog.ts";
import { processOwner } from "../../storage/ReleasableLog.ts";
import { queueName } from "../state/Task.ts";

/** The right to run a task of a queue, within the limits of the queue. */
export interface QueueTurn {
  readonly kind: "granted";
  /** Aborts if this process loses its turn, for example because the process was suspended for longer than a lease. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/** A limit of a queue or a key is reached. */
export interface QueueRefusal {
  readonly kind: "queue_full" | "key_full";
  /** The milliseconds until a task may start. `undefined` if another task must end first. */
  readonly waitMs?: number;
}

/** The number of queues whose starts are remembered. */
const mostRates = 100;

/** The first and the longest delay before a worker tries again after another worker was faster, in milliseconds. */
const [fasterMs, longestFasterMs] = [20, 1_000];

const queueFull: QueueRefusal = { kind: "queue_full" };

/** Applies the limits of queues over all processes of a storage. */
export class QueueTurns {
  readonly #storage: LogStorage;
  readonly #clock: Clock;
  /** The starts that the last turn read, so that the next turn reads only later starts. */
  readonly #rates: ShapeViews<StartRecord, RateState>;
  /** How often another worker was faster since the last granted turn. */
  #overtaken = 0;

  constructor(storage: LogStorage, clock: Clock) {
    this.#storage = storage;
    this.#clock = clock;
    this.#rates = new ShapeViews(rateShape, storage.log, mostRates);
  }

  /** Takes a turn if no limit is reached. A start counts for the rate limit even if the task fails to start. */
  async take(
    { queue, key }: { readonly queue: string; readonly key?: string | undefined },
    limits: QueueLimits,
  ): Promise<QueueTurn | QueueRefusal> {
    const { concurrency = Infinity, keyConcurrency = Infinity, rateLimit } = limits;
    const wanted = [
      { name: `slot ${queue}`, count: concurrency, full: queueFull },
      {
        name: `slot ${queue} ${key}`,
        count: key === undefined ? Infinity : keyConcurrency,
        full: { kind: "key_full" },
      },
    ] as const;
    const waitMs = rateLimit && (await this.#rateWaitMs(queue, rateLimit));
    if (waitMs) return { ...queueFull, waitMs };
    const found: string[] = [];
    for (const { name, count, full } of wanted.filter(({ count }) => count !== Infinity)) {
      const id = await freeSlot(this.#storage.log, name, count);
      if (id === undefined) return full;
      found.push(id);
    }
    return this.#takeAll(queue, found, rateLimit);
  }

  async #takeAll(
    queue: string,
    ids: readonly string[],
    rateLimit: QueueLimits["rateLimit"],
  ): Promise<QueueTurn | QueueRefusal> {
    const slots: OwnedLog[] = [];
    const release = async () => void (await Promise.all(slots.map((slot) => slot.release())));
    try {
      for (const id of ids) {
        const slot = await takenSlot(this.#storage.log, id);
        if (slot) slots.push(slot);
      }
      const waitMs = slots.length < ids.length ? this.#fasterMs() : rateLimit && (await this.#start(queue, rateLimit));
      if (!waitMs) {
        this.#overtaken = 0;
        return { kind: "granted", lost: AbortSignal.any(slots.map(({ lost }) => lost)), release };
      }
      await release();
      return { ...queueFull, waitMs };
    } catch (error) {
      await release();
      throw error;
    }
  }

  /** Reads the log without ownership, because each release of a log wakes the other workers. */
  async #rateWaitMs(queue: string, rateLimit: NonNullable<QueueLimits["rateLimit"]>): Promise<number> {
    const { state } = await this.#rates.read(queue);
    return state.waitMs(rateLimit, this.#clock.now());
  }

  /** Counts a start. If no start is possible now, returns the milliseconds until a start is possible. */
  async #start(queue: string, rateLimit: NonNullable<QueueLimits["rateLimit"]>): Promise<number> {
    try {
      const options = { storage: this.#storage, id: queue, clock: this.#clock, views: this.#rates };
      await using log = await ShapedLog.open(rateShape, options);
      const at = this.#clock.now();
      const waitMs = log.state.waitMs(rateLimit, at);
      if (waitMs > 0) return waitMs;
      await storeAndPrune(log, { kind: "start", at, perMs: rateLimit.perMs });
      return 0;
    } catch (error) {
      // Another worker owns the log. The log possibly contains this start.
      if (!isTaken(error)) throw error;
      return this.#fasterMs();
    }
  }

  #fasterMs(): number {
    return Math.min(fasterMs * 2 ** this.#overtaken++, longestFasterMs);
  }
}

/**
 * Returns a free slot of a name, which has `count` slots in all processes of a storage. Each slot is an empty log, and
 * the owner of the log holds the slot. The slot of a killed process becomes free when the lease of the process ends.
 * Does not take the slot, because a release wakes the waiting workers.
 */
async function freeSlot(log: RecordLog, name: string, count: number): Promise<string | undefined> {
  const first = Math.floor(Math.random() * count);
  for (let at = 0; at < count; at++) {
    const id = `${name}-${(first + at) % count}`;
    if ((await log.owner(id))?.state !== "alive") return id;
  }
  return undefined;
}

/** Takes a slot. Returns `undefined` if another process was faster. */
async function takenSlot(log: RecordLog, id: string): Promise<OwnedLog | undefined> {
  try {
    return await log.open(id, processOwner());
  } catch (error) {
    if (!isTaken(error)) throw error;
    return undefined;
  }
}

/** Returns whether another process owns a log. */
function isTaken(error: unknown): boolean {
  return error instanceof AgentBusyError || error instanceof OwnershipLostError;
}

/** The start of a task in a queue with a rate limit. */
interface StartRecord extends LogRecord {
  readonly kind: "start";
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The period of the rate limit. */
  readonly perMs: number;
}

/** The starts of the last period. */
export class RateState implements ShapeState<StartRecord> {
  readonly #starts: StartRecord[] = [];

  add(record: StartRecord): void {
    // The oldest start is first, unless the clock was set back.
    const isOld = ({ at }: StartRecord) => Math.abs(record.at - at) >= record.perMs;
    while (this.#starts[0] && isOld(this.#starts[0])) this.#starts.shift();
    this.#starts.push(record);
  }

  restate(): Iterable<StartRecord> {
    return this.#starts;
  }

  /** Returns the time in milliseconds until a task may start. */
  waitMs({ max, perMs }: { readonly max: number; readonly perMs: number }, now: number): number {
    const recent = this.#starts.map(({ at }) => at).filter((at) => Math.abs(now - at) < perMs);
    if (recent.length < max) return 0;
    // A start in the future is from before the clock was set back.
    const [frees = 0] = recent.toSorted((a, b) => a - b).slice(recent.length - max);
    return Math.max(1, frees + perMs - now);
  }
}

/** The log with the starts of a queue. */
const rateShape: ShapeDefinition<StartRecord, RateState> = {
  name: "rate",
  version: 1,
  records: { start: { at: time, perMs: count } },
  values: () => [],
  begin: () => new RateState(),
};

/** The limits of a queue over all workers of a storage. Give all workers the same limits. */
export interface QueueLimits {
  /** How many tasks of the queue run at the same time. Defaults to no limit. */
  readonly concurrency?: number | undefined;
  /** How many tasks with the same key run at the same time. Defaults to no limit. */
  readonly keyConcurrency?: number | undefined;
  /** Starts at most `max` tasks in any `perMs` milliseconds. Continued tasks count again. Defaults to no limit. */
  readonly rateLimit?: { readonly max: number; readonly perMs: number } | undefined;
}

export const queuesSchema: z.ZodType = z.record(
  queueName,
  strictOptions(() => ({
    concurrency: integerFrom(1).optional(),
    keyConcurrency: integerFrom(1).optional(),
    rateLimit: strictOptions(() => ({ max: z.int().positive(), perMs: z.int().positive() })).optional(),
  })),
);

/** The number of appends between two prunings of a log. */
const pruneEvery = 256;

/** Stores a record in a log whose state depends only on its last records. Prunes the log from time to time. */
export async function storeAndPrune<Rec extends LogRecord, State extends ShapeState<Rec>>(
  log: ShapedLog<Rec, State>,
  record: Rec,
): Promise<void> {
  await log.store([record]);
  if (log.position % pruneEvery === 0) await log.prune();
}
