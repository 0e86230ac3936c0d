import { z } from "zod";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { Node } from "../../agent/strategy/Strategy.ts";
import { customSchema, zodSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/** Options of {@link RunPersistence.createCheckpoint}. */
export interface CreateCheckpointOptions<Input> {
  /** The context for the checkpoint. Defaults to the bound context. */
  readonly agentContext?: AgentContext | undefined;
  /**
   * The node that runs next, with the current history and storage. Defaults to the running node, with its input and the
   * history and storage at its start. A resume then runs this node again and replays its later calls.
   */
  readonly nodeId?: string | Node<Input> | undefined;
  /** The input of that node. Defaults to the input of the running node. */
  readonly lastInput?: NoInfer<Input>;
  /** Validates `lastInput`. Stored as JSON Schema. */
  readonly lastInputType?: z.core.$ZodType<Input> | undefined;
  /**
   * An id of 1 to 256 characters. It must not have the form `<number>-<number>`, which generated ids have. A node that
   * runs again gets the checkpoint that it made earlier with this id.
   */
  readonly checkpointId?: string | undefined;
  /** Must be greater than the version of every earlier checkpoint. Defaults to the next version. */
  readonly version?: number | undefined;
}

/** Checks the form of a node reference. The graph checks whether the node exists. */
export const nodeReferenceSchema: z.ZodType = customSchema(
  "the path of a node, or what graph.node returned",
  (value) => typeof (typeof value === "object" ? (value as Node | null)?.name : value) === "string",
);

export const createCheckpointSchema: z.ZodType = strictOptions(() => ({
  agentContext: z.unknown().optional(),
  nodeId: nodeReferenceSchema.optional(),
  lastInput: z.unknown().optional(),
  lastInputType: zodSchema.optional(),
  checkpointId: z.string().optional(),
  version: z.number().optional(),
}));
