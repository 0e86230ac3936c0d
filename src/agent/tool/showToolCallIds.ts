import type { AssistantMessage, Message } from "../../checkpoint/messages/Message.ts";
import type { MessageHistory } from "../../checkpoint/messages/MessageHistory.ts";

/** Where the history holds `message`, it holds `issued` from now on: the same message with the ids its calls really have. */
export function showToolCallIds(history: MessageHistory, message: AssistantMessage, issued: AssistantMessage): void {
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
