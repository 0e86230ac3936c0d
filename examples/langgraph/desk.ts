import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AIMessage, isAIMessage, type BaseMessage } from "@langchain/core/messages";
import { tool, type ToolRunnableConfig } from "@langchain/core/tools";
import { END, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { durableTools, PersistenceSaver } from "agent-persistence/langgraph";
import { z } from "zod";

/** The thread of the order. With `sync`, each step is stored before the next one begins. */
export const thread = { configurable: { thread_id: "order-7" }, durability: "sync" as const };

/**
 * The refund desk. Every process creates the same graph, on the same folder.
 *
 * @param afterRefund is called when the money of an order has been paid, and before the tool returns.
 */
export function openDesk(directory: string, afterRefund: (order: string) => void = () => {}) {
  const path = join(directory, "payments.txt");
  const checkpointer = new PersistenceSaver({ storage: new FilePersistenceStorageProvider({ directory }) });

  const refund = tool(
    ({ order, euros }, config: ToolRunnableConfig) => {
      // The key of a call is the same after a crash: the bank pays once for it.
      const key = String(config.configurable?.["idempotency_key"]);
      const payments = existsSync(path) ? readFileSync(path, "utf8") : "";
      if (!payments.includes(key)) appendFileSync(path, `${key} ${euros} euros for ${order}\n`);
      afterRefund(order);
      return `${order} is refunded`;
    },
    {
      name: "refund",
      description: "Refunds an order.",
      schema: z.object({ order: z.string(), euros: z.number() }),
    },
  );
  const tools = durableTools(checkpointer, [refund], { refund: { effect: "idempotent" } });

  const graph = new StateGraph(MessagesAnnotation)
    .addNode("model", ({ messages }) => {
      appendFileSync(join(directory, "requests.txt"), "asked\n");
      return { messages: [answerTo(messages)] };
    })
    .addNode("approve", () => {
      const answer = interrupt<string, string>("Refund orders 7 and 8?");
      appendFileSync(join(directory, "answers.txt"), `${answer}\n`);
      return {};
    })
    .addNode("tools", new ToolNode(tools))
    .addEdge(START, "model")
    .addConditionalEdges("model", ({ messages }) => (asksForTools(messages.at(-1)) ? "approve" : END), ["approve", END])
    .addEdge("approve", "tools")
    .addEdge("tools", "model")
    .compile({ checkpointer });
  return { checkpointer, graph };
}

/** A mock model, so that the example needs no API key and no network: it asks for two refunds at once, and says what came of it. */
function answerTo(messages: readonly BaseMessage[]): AIMessage {
  const results = messages.filter((message) => message.getType() === "tool");
  if (results.length > 0) return new AIMessage(`${results.map(({ text }) => text).join(", and ")}.`);
  const asked = ["order 7", "order 8"].map((order) => ({ id: order, name: "refund", args: { order, euros: 25 } }));
  return new AIMessage({ content: "", tool_calls: asked });
}

function asksForTools(message: BaseMessage | undefined): boolean {
  return message !== undefined && isAIMessage(message) && (message.tool_calls ?? []).length > 0;
}
