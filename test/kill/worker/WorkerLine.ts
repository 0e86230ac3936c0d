import { z } from "zod";
import { Place } from "./WorkerOptions.ts";

/** What the worker says on its standard output, a line of JSON each. */
export const WorkerLine = z.union([
  /** Everything is loaded, and the run is about to be asked for. */
  z.object({ said: z.literal("ready") }),
  /** It stands still, at a place inside a tool or the model, until it is killed or continued. */
  z.object({ said: z.literal("halted"), place: Place, tool: z.string().optional(), call: z.string().optional() }),
  z.object({ said: z.literal("completed"), output: z.unknown() }),
  z.object({
    said: z.literal("failed"),
    code: z.string(),
    message: z.string(),
    toolName: z.string().optional(),
    toolCallId: z.string().optional(),
    nodeId: z.string().optional(),
    owner: z.object({ processId: z.int() }).optional(),
  }),
]);
export type WorkerLine = z.infer<typeof WorkerLine>;
