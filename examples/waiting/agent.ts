import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { AIAgent, Persistence, strategy, tool } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";

/** An order that a person must approve before it is paid. Every process creates the agent, on the same folder. */
export function buyer(directory: string): AIAgent<string, string> {
  const pay = tool({
    name: "pay",
    description: "Pays for an item.",
    inputSchema: z.object({ item: z.string() }),
    execute: ({ item }, { toolCallId }) => appendFileSync(join(directory, "payments.txt"), `${toolCallId} ${item}\n`),
  });
  const order = strategy<string, string>("order", (graph) => {
    const approve = graph.node("approve", async (item: string, context) => {
      const answer = await context.requestInput({
        prompt: `May I buy ${item}?`,
        schema: z.object({ approved: z.boolean(), by: z.string() }),
        waitingFor: "human_approval",
      });
      if (!answer.approved) return `${answer.by} does not want ${item}`;
      await context.tools.call(pay, { item });
      return `bought ${item} for ${answer.by}`;
    });
    graph.edge(graph.start, approve);
    graph.edge(approve, graph.finish);
  });
  const agent = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none", strategy: order, tools: [pay] });
  return agent.install(Persistence, { storage: new FilePersistenceStorageProvider({ directory }) });
}
