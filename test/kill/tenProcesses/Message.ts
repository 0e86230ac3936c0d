import { z } from "zod";

/** What a contender is told. */
export type Order = { readonly contend: { readonly directory: string; readonly atMs: number } } | "go on";

/** What it says. */
export const Said = z.union([
  z.object({ said: z.literal("ready") }),
  /** It runs the agent, and stands still inside its first tool call until it is told to go on. */
  z.object({ said: z.literal("inside") }),
  z.object({ said: z.literal("busy"), holder: z.int(), retryAfterMs: z.number() }),
  z.object({ said: z.literal("completed"), output: z.unknown() }),
  z.object({ said: z.literal("failed"), message: z.string() }),
]);
export type Said = z.infer<typeof Said>;
