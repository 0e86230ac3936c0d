import type { AssistantMessage, ContentPart, Message } from "../../checkpoint/messages/Message.ts";
import type { MessageHistory } from "../../checkpoint/messages/MessageHistory.ts";
import { frozenCopy } from "../../internal/copy/frozenCopy.ts";

/**
 * A frozen copy of a message with the library's tool-call ids. An id that is replaced becomes the `providerToolCallId`.
 *
 * @param idAt the new id of the call at an index of the content.
 * @param keeps whether an id is the library's own and stays. A repeated id stays only at its first call.
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

/** Replaces `message` in the history, if it is there, by `issued`, the same message with other ids. */
export function replaceToolCallIds(history: MessageHistory, message: AssistantMessage, issued: AssistantMessage): void {
  const ids = callIdsOf(message);
  if (ids === callIdsOf(issued)) return;
  const shown = history.messages.findLastIndex((other) => other === message || callIdsOf(other) === ids);
  if (shown >= 0) history.reissue(shown, issued);
}

/** The ids of the tool calls of a message, as comparable text; `undefined` if it has none. */
function callIdsOf(message: Message): string | undefined {
  if (message.role !== "assistant" || typeof message.content === "string") return undefined;
  const ids = message.content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []));
  return ids.length === 0 ? undefined : JSON.stringify(ids);
}
