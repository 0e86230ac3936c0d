import type { AssistantMessage, ToolMessage } from "../../checkpoint/messages/Message.ts";
import type { AgentContext } from "../context/AgentContext.ts";

/** A node body: appends the input to the history, a text as a user message, asks the model, appends its answer and returns it. */
export async function callModel(input: string | ToolMessage, context: AgentContext): Promise<AssistantMessage> {
  context.llm.append(typeof input === "string" ? { role: "user", content: input } : input);
  const answer = await context.llm.request();
  context.llm.append(answer);
  return answer;
}

/** A node body: runs the tools the model asked for and returns their results, which are not appended to the history. */
export function callTools(message: AssistantMessage, context: AgentContext): Promise<ToolMessage> {
  return context.tools.execute(message);
}

/** Whether the model asks for tools. */
export function hasToolCalls(message: AssistantMessage): boolean {
  return typeof message.content !== "string" && message.content.some((part) => part.type === "tool-call");
}

/** The text of an answer, its text parts joined; empty when it has none. */
export function textOf(message: AssistantMessage): string {
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
