import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { AIAgent, Persistence, strategy, tool } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";

/**
 * A chief who sends out two researchers at once, and refunds an order by what they found. One of the researchers asks a
 * person, and the refund needs an approval. Every process creates the agents, on the same folder.
 */
export function desk(directory: string): AIAgent<string, string> {
  const note = (line: string) => appendFileSync(join(directory, "done.txt"), `${line}\n`);

  const researcher = new AIAgent({
    promptExecutor: scriptedModel([]),
    llmModel: "none",
    strategy: strategy<string, string>("research", (graph) => {
      const look = graph.node("look", (topic: string) => {
        note(`looked up ${topic}`);
        return topic;
      });
      const ask = graph.node("ask", async (topic: string, context) => {
        if (topic !== "the customer") return `${topic}: 25 euros`;
        const known = await context.requestInput({ prompt: `Do you know ${topic}?`, schema: z.boolean() });
        return `${topic}: ${known ? "known" : "unknown"}`;
      });
      graph.edge(graph.start, look);
      graph.edge(look, ask);
      graph.edge(ask, graph.finish);
    }),
  }).install(Persistence);

  const research = researcher.asTool({
    name: "research",
    description: "Finds out about a topic.",
    inputSchema: z.object({ topic: z.string() }),
    input: ({ topic }) => topic,
  });
  const refund = tool({
    name: "refund",
    description: "Refunds an order.",
    inputSchema: z.object({ order: z.string(), euros: z.number() }),
    needsApproval: ({ order, euros }) => euros > 10 && { prompt: `Refund ${euros} euros for ${order}?` },
    execute: ({ order, euros }) => {
      note(`refunded ${euros} euros for ${order}`);
      return "refunded";
    },
  });

  const chief = new AIAgent({
    llmModel: "scripted",
    tools: [research, refund],
    promptExecutor: scriptedModel([
      {
        toolCalls: [
          { toolName: "research", input: { topic: "the customer" } },
          { toolName: "research", input: { topic: "the order" } },
        ],
      },
      { toolCalls: [{ toolName: "refund", input: { order: "order 7", euros: 25 } }] },
      "The customer has the money back.",
    ]),
  });
  return chief.install(Persistence, { storage: new FilePersistenceStorageProvider({ directory }) });
}
