import { z } from "zod";

/** Where the agent is, and when all begin. */
export interface Start {
  readonly directory: string;
  readonly atMs: number;
}

/** What a contender is told: to run the agent, to fork it to an id that is the same for all, or to resume one of old code. */
export type Order = { readonly contend: Start } | { readonly fork: Start } | { readonly migrate: Start } | "go on";

/** What it says. */
export const Said = z.union([
  z.object({ said: z.literal("ready") }),
  /** It runs the agent, and stands still inside its first tool call until it is told to go on. */
  z.object({ said: z.literal("inside") }),
  z.object({ said: z.literal("busy"), holder: z.int(), retryAfterMs: z.number() }),
  z.object({ said: z.literal("completed"), output: z.unknown() }),
  z.object({ said: z.literal("forked") }),
  z.object({ said: z.literal("refused"), code: z.string() }),
  z.object({ said: z.literal("failed"), message: z.string() }),
]);
export type Said = z.infer<typeof Said>;
