import { z } from "zod";
import { zodSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { WaitingFor } from "../../checkpoint/status/TaskStatus.ts";

/** A request of a node for input from outside the run. */
export interface InputRequest<Answer = unknown> {
  /**
   * Distinguishes the request from others with the same question; unique in the visit. Set it if equal questions can be
   * requested in another order when the node runs again. Defaults to the number of the request among equal questions.
   * An answer counts only for the same question, which consists of prompt, schema and `waitingFor`.
   */
  readonly id?: string | undefined;
  /** Shown to the person or system that answers. */
  readonly prompt: string;
  /** Validates the answer. Stored as JSON Schema for processes that do not run the node. */
  readonly schema: z.core.$ZodType<Answer>;
  /** Defaults to `user_input`. */
  readonly waitingFor?: Exclude<WaitingFor, "timer"> | undefined;
  /** When the request expires. Defaults to never. */
  readonly expiresAt?: Date | undefined;
}

/** The request behind a sleep. It accepts no answer, and the sleep ends at `expiresAt`. */
export interface TimerRequest extends Omit<InputRequest<never>, "waitingFor"> {
  readonly waitingFor: "timer";
}

export const inputRequestSchema: z.ZodType = strictOptions({
  id: z.string().optional(),
  prompt: z.string(),
  schema: zodSchema,
  waitingFor: z.enum(["user_input", "external_api", "human_approval"]).optional(),
  expiresAt: z.date().optional(),
});
