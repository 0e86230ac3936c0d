import { z } from "zod";
import { zodSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { WaitingFor } from "../../checkpoint/status/TaskStatus.ts";

/** What a node asks of somebody outside the run. */
export interface InputRequest<Answer = unknown> {
  /**
   * Tells requests of one visit apart, where their order may change from one time the node runs to the next; unique in the
   * visit. Default: the order in which they are made.
   */
  readonly id?: string | undefined;
  /** What is shown to whoever answers. */
  readonly prompt: string;
  /** What an answer must be. It is kept as JSON Schema, which judges answers where the code of the node is not. */
  readonly schema: z.ZodType<Answer>;
  /** Default `user_input`. */
  readonly waitingFor?: WaitingFor | undefined;
  /** When the request ends without an answer. Default: never. */
  readonly expiresAt?: Date | undefined;
}

export const inputRequestSchema: z.ZodType = strictOptions({
  id: z.string().optional(),
  prompt: z.string(),
  schema: zodSchema,
  waitingFor: z.enum(["user_input", "external_api", "human_approval"]).optional(),
  expiresAt: z.date().optional(),
});
