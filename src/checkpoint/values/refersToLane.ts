import { type AnswerReference, envelopeKeyOf, type MessageReference, type StoredValue } from "./valueCodec.ts";

export function refersToLane(slot: StoredValue): boolean {
  const key = envelopeKeyOf(slot);
  if (key === "$answer") return (slot as { readonly $answer: AnswerReference }).$answer[4] !== undefined;
  return key === "$message" && Array.isArray((slot as { readonly $message: MessageReference }).$message);
}
