import { z } from "zod";
import { integerFrom } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { queueName } from "../state/Task.ts";

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
