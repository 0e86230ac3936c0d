import type { AssistantMessage, ContentPart } from "../../checkpoint/messages/Message.ts";
import { isolate } from "../../internal/isolate.ts";

/**
 * An answer with our tool-call ids; the id that stood there stays beside as the provider's. The message itself,
 * isolated, when all of its ids are kept.
 *
 * @param idAt the id of the call at a place of the content.
 * @param keeps whether an id is ours already. One that stands twice in a message is kept once.
 */
export function withToolCallIds(
  message: AssistantMessage,
  idAt: (index: number) => string,
  keeps: (id: string) => boolean,
): AssistantMessage {
  if (typeof message.content === "string") return isolate(message);
  const seen = new Set<string>();
  let changed = false;
  const content = message.content.map((part, index): ContentPart => {
    if (part.type !== "tool-call") return part;
    const kept = !seen.has(part.toolCallId) && keeps(part.toolCallId);
    seen.add(part.toolCallId);
    if (kept) return part;
    changed = true;
    return { ...part, toolCallId: idAt(index), providerToolCallId: part.providerToolCallId ?? part.toolCallId };
  });
  return isolate(changed ? { ...message, content } : message);
}
