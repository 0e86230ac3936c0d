import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";

/** Whether the model asks for tools. */
export function hasToolCalls(message: AssistantMessage): boolean {
  return typeof message.content !== "string" && message.content.some((part) => part.type === "tool-call");
}
