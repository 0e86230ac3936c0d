import type { z } from "zod";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { numberFrom } from "../../internal/options/optionSchemas.ts";

/** Defines when to delete agents and checkpoints. Queued, running, paused and waiting agents always stay. */
export interface RetentionPolicy {
  /** The number of days until a completed or cancelled agent is deleted. Defaults to 7. `Infinity` keeps it. */
  readonly completedDays?: number | undefined;
  /** The number of days until a failed agent is deleted. Defaults to 30. `Infinity` keeps it. */
  readonly failedDays?: number | undefined;
  /**
   * The maximum number of checkpoints. If there are more, only the first, the last and every 5th checkpoint are kept.
   * If these are too many, only every 25th is kept, then every 125th. Checkpoints with a custom id, the first of an
   * unfinished run, and starting points of branches are also kept. The result of a finished run stays even if its last
   * checkpoint is deleted.
   *
   * Checkpoints of branches and sub-agents count too. Checkpoints of joined branches and of finished sub-agents are
   * deleted first, together with the checkpoints of the joins. Checkpoints that an open branch, an open sub-agent or an
   * unfinished `merge` needs are kept and do not count. Defaults to 20. `Infinity` keeps all.
   */
  readonly maxCheckpoints?: number | undefined;
  /** The maximum for paused or waiting agents. Defaults to `maxCheckpoints`. `Infinity` keeps all. */
  readonly maxCheckpointsPaused?: number | undefined;
}

export type FullRetentionPolicy = { readonly [Name in keyof RetentionPolicy]-?: number };

export const defaultRetention: FullRetentionPolicy = {
  completedDays: 7,
  failedDays: 30,
  maxCheckpoints: 20,
  maxCheckpointsPaused: 20,
};

export const retentionPolicySchema: z.ZodType<RetentionPolicy> = strictOptions(() => ({
  completedDays: numberFrom(0).optional(),
  failedDays: numberFrom(0).optional(),
  maxCheckpoints: numberFrom(2).optional(),
  maxCheckpointsPaused: numberFrom(2).optional(),
}));

/** Returns the policy with its defaults. @throws InvalidInputError for an invalid number. */
export function fullRetention(policy: RetentionPolicy = {}): FullRetentionPolicy {
  checkSchema(retentionPolicySchema, policy, "retention policy");
  const chosen = { ...defaultRetention, ...withoutUndefined(policy) };
  return { ...chosen, maxCheckpointsPaused: policy.maxCheckpointsPaused ?? chosen.maxCheckpoints };
}
