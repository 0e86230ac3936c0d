import type { AssistantMessage, ToolMessage } from "../../checkpoint/messages/Message.ts";
import type { AgentContext } from "../context/AgentContext.ts";

/** A node body: appends the input to the history, text as a user message, calls the model, appends its answer and returns it. */
export async function callModel(input: string | ToolMessage, context: AgentContext): Promise<AssistantMessage> {
  context.llm.append(typeof input === "string" ? { role: "user", content: input } : input);
  const answer = await context.llm.request();
  context.llm.append(answer);
  return answer;
}

/** A node body: runs the tool calls of a message and returns their results without appending them to the history. */
export function callTools(message: AssistantMessage, context: AgentContext): Promise<ToolMessage> {
  return context.tools.execute(message);
}

/** Whether a message has tool calls. */
export function hasToolCalls(message: AssistantMessage): boolean {
  return typeof message.content !== "string" && message.content.some((part) => part.type === "tool-call");
}

/** The text parts of a message, joined; empty if it has none. */
export function textOf(message: AssistantMessage): string {
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
