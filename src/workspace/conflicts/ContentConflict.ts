import { z } from "zod";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/**
 * A text that was changed on two sides, and what is known of why. In a rollback, where what the agent did is taken out, `base`
 * is what the agent left, and `ours` the file at the checkpoint.
 */
export interface ContentConflict {
  /** Relative to the root. */
  readonly path: string;
  /** What both sides come from: the file at the checkpoint. */
  readonly base: string;
  /** The agent's. */
  readonly ours: string;
  /** The file as somebody else has left it. */
  readonly theirs: string;
  /** What the agent wants: what it was asked for and its last decision. Absent: not known. */
  readonly agentIntent?: string | undefined;
  /** What the other side wanted, such as the messages of its commits. Absent: not known; a model is asked to infer it. */
  readonly externalIntent?: string | undefined;
}

/** What {@link ContentConflict} must be. */
export const conflictSchema: z.ZodType<ContentConflict> = strictOptions({
  path: z.string(),
  base: z.string(),
  ours: z.string(),
  theirs: z.string(),
  agentIntent: z.string().optional(),
  externalIntent: z.string().optional(),
});
