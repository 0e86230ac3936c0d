import type { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { numberFrom } from "../../internal/options/optionSchemas.ts";

/** What to delete, and when. Agents that are queued, in progress, paused or waiting are never deleted. */
export interface RetentionPolicy {
  /** Days after its end at which a completed or canceled agent is deleted. Default 7; `Infinity`: never. */
  readonly completedDays?: number | undefined;
  /** Days after its failure at which a failed agent is deleted. Default 30; `Infinity`: never. */
  readonly failedDays?: number | undefined;
  /**
   * Above this number of checkpoints only the first, the last and every 5th are kept; if those are still too many, every
   * 25th, then every 125th. Also kept: checkpoints with an id of yours, the first of an unfinished run, and checkpoints
   * from which a branch begins. Of a finished run whose end is deleted, the result stays.
   *
   * Checkpoints of branches of a parallel node and of sub-agents count as any other. Those of branches that were joined and of
   * sub-agents that have returned go first, and with them the joins. What an open branch or sub-agent needs to go on, and what
   * a `merge` that has not ended needs of the branches, is kept and does not count.
   * Default 20; `Infinity`: all.
   */
  readonly maxCheckpoints?: number | undefined;
  /** The same for agents that are paused or waiting. Default: `maxCheckpoints`; `Infinity`: all. */
  readonly maxCheckpointsPaused?: number | undefined;
}

/** A policy with its defaults. */
export type FullRetentionPolicy = { readonly [Name in keyof RetentionPolicy]-?: number };

export const defaultRetention: FullRetentionPolicy = {
  completedDays: 7,
  failedDays: 30,
  maxCheckpoints: 20,
  maxCheckpointsPaused: 20,
};

export const retentionPolicySchema: z.ZodType<RetentionPolicy> = strictOptions({
  completedDays: numberFrom(0).optional(),
  failedDays: numberFrom(0).optional(),
  maxCheckpoints: numberFrom(2).optional(),
  maxCheckpointsPaused: numberFrom(2).optional(),
});

/** The policy with its defaults. @throws InvalidInputError for an invalid number. */
export function fullRetention(policy: RetentionPolicy = {}): FullRetentionPolicy {
  checkSchema(retentionPolicySchema, policy, "retention policy");
  const chosen = { ...defaultRetention, ...withoutUndefined(policy) };
  return { ...chosen, maxCheckpointsPaused: policy.maxCheckpointsPaused ?? chosen.maxCheckpoints };
}
