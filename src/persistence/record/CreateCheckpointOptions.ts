import { z } from "zod";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { Node } from "../../agent/strategy/Strategy.ts";
import { customSchema, zodSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/** What a checkpoint made by hand says. */
export interface CreateCheckpointOptions<Input> {
  /** The context it is made in. Default: the one that this object is bound to. */
  readonly agentContext?: AgentContext | undefined;
  /**
   * The node that runs next, with the history and storage of this moment. Absent: the node that runs now, with the
   * input, history and storage that it began with; what it did since is replayed.
   */
  readonly nodeId?: string | Node<Input> | undefined;
  /** What that node gets. May be left out for the node that runs now: its own input. */
  readonly lastInput?: NoInfer<Input>;
  /** What `lastInput` is; it is checked, and kept as JSON Schema. */
  readonly lastInputType?: z.ZodType<Input> | undefined;
  /**
   * 1 to 256 characters; not of the form `<number>-<number>`, which is given to checkpoints without one. A node that runs
   * again gets the checkpoint that it made under this id.
   */
  readonly checkpointId?: string | undefined;
  /** Above that of every checkpoint before. Absent or 0: the next. */
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
