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
 * Returns the summary that replaces older content. Awaited at the end of each node. If it throws, the content is kept and
 * tried again after the next node.
 */
export type Summarizer = (
  older: OlderContent,
  options: { readonly signal: AbortSignal },
) => string | PromiseLike<string>;

/** How a live history is kept short. The log keeps everything. */
export interface TrimmingPolicy {
  /** How many of the newest tool outputs are kept; each older one is summarized once. Default 5. */
  readonly toolOutputs?: number | undefined;
  /**
   * How many of the newest messages are kept; all older ones become one message of the user's role. System messages are
   * kept and not counted; a call is never separated from its result. Default 50.
   */
  readonly messages?: number | undefined;
  /** Default: keeps the beginning of each text. */
  readonly summarize?: Summarizer | undefined;
}

export const trimmingPolicySchema: z.ZodType<TrimmingPolicy> = strictOptions({
  toolOutputs: integerFrom(0).optional(),
  messages: integerFrom(0).optional(),
  summarize: functionSchema<Summarizer>().optional(),
});
