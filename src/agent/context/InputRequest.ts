import { z } from "zod";
import { zodSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { WaitingFor } from "../../checkpoint/status/TaskStatus.ts";

/** A node's request for input from outside the run. */
export interface InputRequest<Answer = unknown> {
  /**
   * Identifies the request within the visit; unique there. Set it if the prompt may differ when the node runs again.
   * Default: the request is identified by its question (prompt, schema and `waitingFor`) and its number among equal ones.
   */
  readonly id?: string | undefined;
  /** Shown to the person or system that answers. */
  readonly prompt: string;
  /** Validates the answer. Stored as JSON Schema, for processes that do not run the node. */
  readonly schema: z.ZodType<Answer>;
  /** Default: `user_input`. */
  readonly waitingFor?: WaitingFor | undefined;
  /** When the request expires. Default: never. */
  readonly expiresAt?: Date | undefined;
}

export const inputRequestSchema: z.ZodType = strictOptions({
  id: z.string().optional(),
  prompt: z.string(),
  schema: zodSchema,
  waitingFor: z.enum(["user_input", "external_api", "human_approval"]).optional(),
  expiresAt: z.date().optional(),
});
