import { z } from "zod";

/** Where the agent is, and when all begin. */
export interface Start {
  readonly directory: string;
  readonly atMs: number;
}

/** What a contender is told to do: with one agent, to one id, or from one archive that is the same for all. */
export type Deed = "contend" | "fork" | "migrate" | "import" | "finishMove" | "cancelMove";

export type Order = { readonly begin: Deed; readonly start: Start } | "go on";

/** What it says. */
export const Said = z.union([
  z.object({ said: z.literal("ready") }),
  /** It runs the agent, and stands still inside its first tool call until it is told to go on. */
  z.object({ said: z.literal("inside") }),
  z.object({ said: z.literal("busy"), holder: z.int(), retryAfterMs: z.number() }),
  z.object({ said: z.literal("completed"), output: z.unknown() }),
  /** It forked, imported, or ended the move. */
  z.object({ said: z.literal("done") }),
  z.object({ said: z.literal("refused"), code: z.string() }),
  z.object({ said: z.literal("failed"), message: z.string() }),
]);
export type Said = z.infer<typeof Said>;
