import type { Message } from "../../checkpoint/messages/Message.ts";

/** The providers' ids by ours, so that a result can be sent with the id of its call even where it does not repeat it. */
export function providerToolCallIds(messages: readonly Message[]): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  for (const { role, content } of messages) {
    if (role !== "assistant" || typeof content === "string") continue;
    for (const part of content) {
      if (part.type === "tool-call" && part.providerToolCallId !== undefined) {
        ids.set(part.toolCallId, part.providerToolCallId);
      }
    }
  }
  return ids;
}
