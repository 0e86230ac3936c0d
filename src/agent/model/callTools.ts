import type { AssistantMessage, ToolMessage } from "../../checkpoint/messages/Message.ts";
import type { AgentContext } from "../context/AgentContext.ts";

/** A node body: runs the tools the model asked for and returns their results, which are not appended to the history. */
export function callTools(message: AssistantMessage, context: AgentContext): Promise<ToolMessage> {
  return context.tools.execute(message);
}
