import type { AssistantMessage, ContentPart, Message } from "../../checkpoint/messages/Message.ts";
import type { MessageHistory } from "../../checkpoint/messages/MessageHistory.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";

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
  if (typeof message.content === "string") return frozenCopy(message);
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
  return frozenCopy(changed ? { ...message, content } : message);
}

/** Where the history holds `message`, it holds `issued` from now on: the same message with the ids its calls really have. */
export function replaceToolCallIds(history: MessageHistory, message: AssistantMessage, issued: AssistantMessage): void {
  const ids = callIdsOf(message);
  if (ids === callIdsOf(issued)) return;
  const shown = history.messages.findLastIndex((other) => other === message || callIdsOf(other) === ids);
  if (shown >= 0) history.rewrite((messages) => messages.with(shown, issued));
}

/** Equal for messages that ask for the same calls; of a message that asks for none, equal to no other's. */
function callIdsOf(message: Message): string | undefined {
  if (message.role !== "assistant" || typeof message.content === "string") return undefined;
  const ids = message.content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []));
  return ids.length === 0 ? undefined : JSON.stringify(ids);
}
