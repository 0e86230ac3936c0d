import type { z } from "zod";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { functionSchema, integerFrom } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";

/** The content that a summarizer shortens. */
export type OlderContent =
  | { readonly kind: "tool_output"; readonly toolName: string; readonly toolCallId: string; readonly output: unknown }
  /** Oldest first. The first message can be the summary of earlier messages. */
  | { readonly kind: "messages"; readonly messages: readonly Message[] };

/** Returns the summary of older content. Awaited after each node. After an error, the next node tries again. */
export type Summarizer = (
  older: OlderContent,
  options: { readonly signal: AbortSignal },
) => string | PromiseLike<string>;

/** Defines how the live history is shortened. The log keeps the full history. */
export interface TrimmingPolicy {
  /** The number of newest tool outputs that are kept. Each older output is summarized once. Defaults to 5. */
  readonly toolOutputs?: number | undefined;
  /**
   * The number of newest messages that are kept. One user message replaces all older messages. System messages are kept
   * and do not count. A call is never separated from its result. Defaults to 50.
   */
  readonly messages?: number | undefined;
  /** Defaults to a summarizer that keeps the start of each text. */
  readonly summarize?: Summarizer | undefined;
}

export const trimmingPolicySchema: z.ZodType<TrimmingPolicy> = strictOptions(() => ({
  toolOutputs: integerFrom(0).optional(),
  messages: integerFrom(0).optional(),
  summarize: functionSchema<Summarizer>().optional(),
}));
