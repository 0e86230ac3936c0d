import type { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { numberFrom } from "../../internal/options/optionSchemas.ts";

/** What is thrown away, and when. Agents that are queued, paused or waiting are never touched. */
export interface RetentionPolicy {
  /** A completed or cancelled agent is dropped whole so many days after its end. Default 7; `Infinity`: never. */
  readonly completedDays?: number | undefined;
  /** An agent that has failed is dropped whole so many days afterwards. Default 30; `Infinity`: never. */
  readonly failedDays?: number | undefined;
  /**
   * Above this number of checkpoints only the first, the last and every 5th are kept; where those are still too many every
   * 25th, then 125th. Ends of runs, checkpoints with a given id, the first of a run that has not ended and those that a line
   * begins from are kept beside them.
   * Default 20; `Infinity`: all.
   */
  readonly maxCheckpoints?: number | undefined;
}

/** A policy with nothing left open. */
export type FullRetentionPolicy = { readonly [Name in keyof RetentionPolicy]-?: number };

/** What holds where a policy says nothing. */
export const defaultRetention: FullRetentionPolicy = { completedDays: 7, failedDays: 30, maxCheckpoints: 20 };

export const retentionPolicySchema: z.ZodType<RetentionPolicy> = strictOptions({
  completedDays: numberFrom(0).optional(),
  failedDays: numberFrom(0).optional(),
  maxCheckpoints: numberFrom(2).optional(),
});

/** The policy with its defaults. @throws InvalidInputError when a number cannot be meant. */
export function fullRetention(policy: RetentionPolicy = {}): FullRetentionPolicy {
  checkSchema(retentionPolicySchema, policy, "retention policy");
  const {
    completedDays = defaultRetention.completedDays,
    failedDays = defaultRetention.failedDays,
    maxCheckpoints = defaultRetention.maxCheckpoints,
  } = policy;
  return { completedDays, failedDays, maxCheckpoints };
}
