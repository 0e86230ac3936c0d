import { z } from "zod";

/**
 * What happened, in order, over all processes of one run: appended by the worker as it happens, so that it tells apart
 * what the unique key of the ledger hides.
 */
export const TraceLine = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("process"), processId: z.int() }),
  /** A node begins; `iteration` nodes have ended before. */
  z.object({ kind: z.literal("node"), iteration: z.int(), node: z.string() }),
  /** The newest checkpoint, read once a save was acknowledged; `ended`: how many nodes the agent knows to have ended. */
  z.object({ kind: z.literal("checkpoint"), id: z.string(), version: z.int(), iteration: z.int(), ended: z.int() }),
  /** The model is asked for the answer of this number. */
  z.object({ kind: z.literal("model"), turn: z.int() }),
  /** A tool call was asked for; nothing of it is recorded yet. */
  z.object({
    kind: z.literal("asked"),
    call: z.string(),
    tool: z.string(),
    effect: z.string(),
    by: z.enum(["model", "node"]),
  }),
  /** The tool itself begins. */
  z.object({ kind: z.literal("started"), call: z.string() }),
  /** The tool itself ends. */
  z.object({ kind: z.literal("finished"), call: z.string() }),
  /** The agent has the result, from the tool or from its record. */
  z.object({ kind: z.literal("ended"), call: z.string() }),
  z.object({ kind: z.literal("completed") }),
  /** Written by the test after a kill: these calls have an outcome in the log. */
  z.object({ kind: z.literal("recorded"), calls: z.array(z.string()) }),
]);
export type TraceLine = z.infer<typeof TraceLine>;
