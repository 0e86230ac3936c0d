import type { AnswerRecord } from "../records/callRecords.ts";
import { envelopeKeyOf } from "../values/valueCodec.ts";

/** Whether an answer asks for one of these tool calls, or may: a message that is stored elsewhere is not looked at. */
export function asksFor({ message }: AnswerRecord, calls: ReadonlySet<string>): boolean {
  if (calls.size === 0) return false;
  if (envelopeKeyOf(message) !== undefined) return true;
  const { content } = message as { readonly content?: unknown };
  if (!Array.isArray(content)) return false;
  return content.some((part: { readonly toolCallId?: unknown }) => calls.has(String(part.toolCallId)));
}
