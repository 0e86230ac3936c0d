import {
  type AssistantMessage,
  type ContentPart,
  type Message,
  partsOfType,
} from "../../checkpoint/messages/Message.ts";
import type { MessageHistory } from "../../checkpoint/messages/MessageHistory.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";

/**
 * Returns a frozen copy of a message with the library's tool-call ids. A replaced id becomes the `providerToolCallId`.
 *
 * @param idAt Returns the new id of the call at an index of the content.
 * @param keeps Returns whether an id already belongs to the library. Such an id stays. If two calls have the same id,
 * only the first one keeps it.
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

/** Replaces `message` in the history, if present, by `issued`, which is the same message with new ids. */
export function replaceToolCallIds(history: MessageHistory, message: AssistantMessage, issued: AssistantMessage): void {
  const ids = callIdsOf(message);
  if (ids === callIdsOf(issued)) return;
  const shown = history.messages.findLastIndex((other) => other === message || callIdsOf(other) === ids);
  if (shown >= 0) history.reissue(shown, issued);
}

function callIdsOf(message: Message): string | undefined {
  const ids = partsOfType(message, "tool-call").map(({ toolCallId }) => toolCallId);
  return ids.length === 0 ? undefined : JSON.stringify(ids);
}
