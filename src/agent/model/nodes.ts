import type { AssistantMessage, ToolMessage } from "../../checkpoint/messages/Message.ts";
import type { AgentContext } from "../context/AgentContext.ts";

/** Appends the input to the history, calls the model, appends its response and returns it. Text is a user message. */
export async function callModel(input: string | ToolMessage, context: AgentContext): Promise<AssistantMessage> {
  context.llm.append(typeof input === "string" ? { role: "user", content: input } : input);
  const response = await context.llm.request();
  context.llm.append(response);
  return response;
}

/** Runs the tool calls of a message and returns their results, without appending them to the history. */
export function callTools(message: AssistantMessage, context: AgentContext): Promise<ToolMessage> {
  return context.tools.execute(message);
}

/** Returns whether a message has tool calls. */
export function hasToolCalls(message: AssistantMessage): boolean {
  return typeof message.content !== "string" && message.content.some((part) => part.type === "tool-call");
}

/** Returns the joined text parts of a message, or an empty string. */
export function textOf(message: AssistantMessage): string {
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
