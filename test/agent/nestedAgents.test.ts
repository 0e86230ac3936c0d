import { expect, it } from "vitest";
import { z } from "zod";
import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, strategy } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing.ts";

/** An agent whose node calls the agent itself until the input is 0. */
function callingItself(isDurable: boolean) {
  const depths: number[] = [];
  const agent: AIAgent<number, number> = new AIAgent({
    id: "a",
    promptExecutor: scriptedModel([]),
    llmModel: "scripted",
    strategy: strategy<number, number>("itself", (graph) => {
      const node = graph.node("node", async (left: number, context): Promise<number> => {
        depths.push(left);
        if (left === 0) return 0;
        const itself = agent.asTool({
          name: "itself",
          description: "",
          inputSchema: z.number(),
          input: (input) => input,
        });
        return 1 + (await context.tools.call(itself, left - 1).catch((error: unknown) => Promise.reject(error)));
      });
      graph.edge(graph.start, node);
      graph.edge(node, graph.finish);
    }),
  });
  if (isDurable) agent.install(Persistence, { storage: new InMemoryPersistenceStorageProvider() });
  return { agent, depths };
}

it.each([false, true])("an agent can call itself 32 times within one another (durable: %s)", async (isDurable) => {
  const { agent } = callingItself(isDurable);
  expect(await agent.run(32)).toMatchObject({ output: 32 });
});

it.each([false, true])("a deeper call of the agent fails the run (durable: %s)", async (isDurable) => {
  const { agent, depths } = callingItself(isDurable);
  await expect(agent.run(1_000)).rejects.toMatchObject({ code: "invalid_strategy", graph: "itself" });
  expect(depths).toHaveLength(33);
});
