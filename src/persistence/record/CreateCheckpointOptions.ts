import { z } from "zod";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { Node } from "../../agent/strategy/Strategy.ts";
import { customSchema, zodSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/** Options of `createCheckpoint`. */
export interface CreateCheckpointOptions<Input> {
  /** The context to make it in. Default: the one that this object is bound to. */
  readonly agentContext?: AgentContext | undefined;
  /**
   * The node that runs next, with the current history and storage. Absent: the node that runs now, with the input, history
   * and storage that it began with; its calls since are replayed.
   */
  readonly nodeId?: string | Node<Input> | undefined;
  /** The input of that node. Default for the node that runs now: its own input. */
  readonly lastInput?: NoInfer<Input>;
  /** Checks `lastInput`; stored as JSON Schema. */
  readonly lastInputType?: z.ZodType<Input> | undefined;
  /**
   * 1 to 256 characters; not of the form `<number>-<number>`, which checkpoints without an id get. A node that runs again
   * gets the checkpoint that it made with this id.
   */
  readonly checkpointId?: string | undefined;
  /** Must be above the version of every earlier checkpoint. Absent or 0: the next. */
  readonly version?: number | undefined;
}

/** How a caller names a node; which nodes there are, the graph knows. */
export const nodeReferenceSchema: z.ZodType = customSchema(
  "the path of a node, or what graph.node returned",
  (value) => typeof (typeof value === "object" ? (value as Node | null)?.name : value) === "string",
);

export const createCheckpointSchema: z.ZodType = strictOptions({
  agentContext: z.unknown().optional(),
  nodeId: nodeReferenceSchema.optional(),
  lastInput: z.unknown().optional(),
  lastInputType: zodSchema.optional(),
  checkpointId: z.string().optional(),
  version: z.number().optional(),
});
