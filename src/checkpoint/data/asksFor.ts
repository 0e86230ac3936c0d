import type { AnswerRecord } from "../records/callRecords.ts";
import { envelopeKeyOf } from "../values/valueCodec.ts";

/**
 * Returns whether a model response can contain one of these tool calls. True for a message that is stored elsewhere.
 */
export function asksFor({ message }: AnswerRecord, calls: ReadonlySet<string>): boolean {
  if (calls.size === 0) return false;
  if (envelopeKeyOf(message) !== undefined) return true;
  const { content } = message as { readonly content?: unknown };
  if (!Array.isArray(content)) return false;
  return content.some((part: { readonly toolCallId?: unknown }) => calls.has(String(part.toolCallId)));
}
