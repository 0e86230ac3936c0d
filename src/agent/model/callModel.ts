import type { AssistantMessage, ToolMessage } from "../../checkpoint/messages/Message.ts";
import type { AgentContext } from "../context/AgentContext.ts";

/** A node body: appends the input to the history, a text as a user message, asks the model, appends its answer and returns it. */
export async function callModel(input: string | ToolMessage, context: AgentContext): Promise<AssistantMessage> {
  context.llm.append(typeof input === "string" ? { role: "user", content: input } : input);
  const answer = await context.llm.request();
  context.llm.append(answer);
  return answer;
}
