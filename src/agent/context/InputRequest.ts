import { z } from "zod";
import { zodSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { WaitingFor } from "../../checkpoint/status/TaskStatus.ts";

/** A node's request for input from outside the run. */
export interface InputRequest<Answer = unknown> {
  /**
   * Tells the request from others that ask the same; unique in the visit. Set it if equal questions may come in another
   * order when the node runs again. Default: its number among equal questions. With and without an id, an answer counts
   * only for the same question: prompt, schema and `waitingFor`.
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
