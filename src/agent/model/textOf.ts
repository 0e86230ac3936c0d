import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";

/** The text of an answer, its text parts joined; empty when it has none. */
export function textOf(message: AssistantMessage): string {
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
