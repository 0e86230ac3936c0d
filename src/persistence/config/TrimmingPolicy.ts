import type { z } from "zod";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { functionSchema, integerFrom } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/** What a summarizer is asked to shorten. */
export type OlderContent =
  | { readonly kind: "tool_output"; readonly toolName: string; readonly toolCallId: string; readonly output: unknown }
  /** Oldest first; the first may be the summary of even older ones. */
  | { readonly kind: "messages"; readonly messages: readonly Message[] };

/**
 * Gives the text that stands for older content from now on. It is waited for at the end of a node. When it throws, what it
 * was given stays as it is and is given to it again at the end of the next node.
 */
export type Summarizer = (
  older: OlderContent,
  options: { readonly signal: AbortSignal },
) => string | PromiseLike<string>;

/** How a live history is kept short. What is taken out of it stays in the log. */
export interface TrimmingPolicy {
  /** How many of the newest tool outputs stay as they are; each older one is summarized once. Default 5. */
  readonly toolOutputs?: number | undefined;
  /**
   * How many of the newest messages stay as they are; all older ones become one message of the user's role. System messages
   * stay and are not counted, and a call is never parted from its result. Default 50.
   */
  readonly messages?: number | undefined;
  /** Default: a plain one that keeps the beginning of each text. */
  readonly summarize?: Summarizer | undefined;
}

export const trimmingPolicySchema: z.ZodType<TrimmingPolicy> = strictOptions({
  toolOutputs: integerFrom(0).optional(),
  messages: integerFrom(0).optional(),
  summarize: functionSchema<Summarizer>().optional(),
});
