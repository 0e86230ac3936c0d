import { z } from "zod";
import type { AgentStorage } from "../../agent/context/AgentContext.ts";
import type { Node } from "../../agent/strategy/Strategy.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { functionSchema, kindOf } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { nodeReferenceSchema } from "../record/CreateCheckpointOptions.ts";

/** What is different from the checkpoint that is edited. What is left out stays as it is there. */
export interface EditOptions {
  /** Who edits, as you know it: 1 to 1,000 characters. Kept with the checkpoint, and never trusted. */
  readonly by: string;
  /** Why: 1 to 1,000 characters. Kept with the checkpoint. */
  readonly reason: string;
  /** The node that runs next, of the line of the checkpoint. */
  readonly nodeId?: string | Node | undefined;
  /** What that node gets. Its schema validates it. */
  readonly lastInput?: unknown;
  /** Gets the messages at the checkpoint, frozen, and returns those that the node finds. */
  readonly messageHistory?: ((messages: readonly Message[]) => readonly Message[]) | undefined;
  /** Gets the storage at the checkpoint, and changes it. */
  readonly storage?: ((storage: AgentStorage) => PromiseLike<void> | void) | undefined;
}

/** The checkpoint that an edit made. */
export interface EditedCheckpoint {
  readonly checkpointId: string;
}

const statement = z.custom<string>((value) => typeof value === "string" && value.length > 0 && value.length <= 1_000, {
  error: ({ input }) =>
    `expected 1 to 1,000 characters, ${typeof input === "string" ? `found ${input.length}` : `received ${kindOf(input)}`}`,
});

/** Node ids are resolved by the graph. */
export const editSchema: z.ZodType = strictOptions({
  by: statement,
  reason: statement,
  nodeId: nodeReferenceSchema.optional(),
  lastInput: z.unknown().optional(),
  messageHistory: functionSchema().optional(),
  storage: functionSchema().optional(),
});
