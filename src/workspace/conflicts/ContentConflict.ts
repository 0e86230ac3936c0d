import { z } from "zod";
import { strictOptions } from "../../internal/options/checkSchema.ts";

/**
 * A text that two sides changed, with the known intent of each side. In a rollback, which reverts the agent's changes,
 * `base` is the file as the agent left it, and `ours` is the file at the checkpoint.
 */
export interface ContentConflict {
  /** Relative to the root. */
  readonly path: string;
  /** The last common version. */
  readonly base: string;
  /** The agent's version. */
  readonly ours: string;
  /** The version of the other side. */
  readonly theirs: string;
  /** The intent of the agent: its task and last decision. Omitted if unknown. */
  readonly agentIntent?: string | undefined;
  /** The intent of the other side, such as its commit messages. If omitted, a model must infer it. */
  readonly externalIntent?: string | undefined;
}

export const conflictSchema: z.ZodType<ContentConflict> = strictOptions(() => ({
  path: z.string(),
  base: z.string(),
  ours: z.string(),
  theirs: z.string(),
  agentIntent: z.string().optional(),
  externalIntent: z.string().optional(),
}));
