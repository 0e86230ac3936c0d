import { z } from "zod";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/**
 * A text that was changed on two sides, with the known intents. In a rollback, which reverts the agent's changes, `base` is
 * the file as the agent left it, and `ours` the file at the checkpoint.
 */
export interface ContentConflict {
  /** Relative to the root. */
  readonly path: string;
  /** The last common version. */
  readonly base: string;
  /** The agent's version. */
  readonly ours: string;
  /** The version that others left. */
  readonly theirs: string;
  /** What the agent wants: its task and last decision. Absent: not known. */
  readonly agentIntent?: string | undefined;
  /** What the other side wanted, such as the messages of its commits. Absent: not known; a model is asked to infer it. */
  readonly externalIntent?: string | undefined;
}

export const conflictSchema: z.ZodType<ContentConflict> = strictOptions({
  path: z.string(),
  base: z.string(),
  ours: z.string(),
  theirs: z.string(),
  agentIntent: z.string().optional(),
  externalIntent: z.string().optional(),
});
