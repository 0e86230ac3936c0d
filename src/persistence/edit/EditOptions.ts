import { z } from "zod";
import type { AgentStorage } from "../../agent/context/AgentContext.ts";
import type { Node } from "../../agent/strategy/Strategy.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { functionSchema, kindOf } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { nodeReferenceSchema } from "../record/CreateCheckpointOptions.ts";

/** Changes to the edited checkpoint. Omitted fields keep their values. */
export interface EditOptions {
  /** The person or system that edits: 1 to 1,000 characters. Stored with the checkpoint and not verified. */
  readonly by: string;
  /** The reason: 1 to 1,000 characters. Stored with the checkpoint. */
  readonly reason: string;
  /** The node of the checkpoint's line that runs next. */
  readonly nodeId?: string | Node | undefined;
  /** The input of that node, validated by its schema. */
  readonly lastInput?: unknown;
  /** Receives the frozen messages at the checkpoint and returns the messages for the node. */
  readonly messageHistory?: ((messages: readonly Message[]) => readonly Message[]) | undefined;
  /** Receives the storage at the checkpoint and changes it. */
  readonly storage?: ((storage: AgentStorage) => PromiseLike<void> | void) | undefined;
}

/** The checkpoint that an edit created. */
export interface EditedCheckpoint {
  readonly checkpointId: string;
}

const statement = z.custom<string>((value) => typeof value === "string" && value.length > 0 && value.length <= 1_000, {
  error: ({ input }) =>
    `expected 1 to 1,000 characters, ${typeof input === "string" ? `found ${input.length}` : `received ${kindOf(input)}`}`,
});

/** The graph resolves node ids. */
export const editSchema: z.ZodType = strictOptions({
  by: statement,
  reason: statement,
  nodeId: nodeReferenceSchema.optional(),
  lastInput: z.unknown().optional(),
  messageHistory: functionSchema().optional(),
  storage: functionSchema().optional(),
});
