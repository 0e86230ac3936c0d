import { expect, it } from "vitest";
import { z } from "zod";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  RollbackToolRegistry,
  strategy,
  tool,
} from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";

function desk(execute: () => unknown, inverse: () => unknown, times: number) {
  const act = tool({ name: "act", description: "acts", inputSchema: z.object({}), execute });
  const twice = strategy<string, string>("twice", (graph) => {
    const node = graph.node("node", async (_text: string, context) => {
      const answer = await context.llm.request();
      for (let time = 0; time < times; time++) await context.tools.execute(answer);
      return "done";
    });
    graph.edge(graph.start, node);
    graph.edge(node, graph.finish);
  });
  const promptExecutor = scriptedModel([{ toolCalls: [{ toolName: "act", input: {} }] }]);
  return new AIAgent({ promptExecutor, llmModel: "scripted", strategy: twice, tools: [act] }).install(Persistence, {
    storage: new InMemoryPersistenceStorageProvider(),
    rollbackToolRegistry: new RollbackToolRegistry().registerRollback(act, inverse),
  });
}

it("a message that is executed twice runs its tool calls once", async () => {
  const world: string[] = [];
  const agent = desk(
    () => world.push("+"),
    () => world.push("-"),
    2,
  );
  await agent.run("go");
  expect(world).toEqual(["+"]);
});

it("a call whose output cannot be copied is reverted instead of failed", async () => {
  const world: string[] = [];
  let deep: unknown = {};
  for (let level = 0; level < 20_000; level++) deep = { deep };
  const agent = desk(
    () => (world.push("+"), deep),
    () => void world.push("-"),
    1,
  );
  await expect(agent.run("go")).rejects.toMatchObject({ code: "not_serializable" });
  const durable = persistence(agent).agent();
  const [first] = await durable.getCheckpoints();
  expect((await durable.rollbackToCheckpoint(first?.checkpointId ?? "")).reverted).toHaveLength(1);
  expect(world).toEqual(["+", "-"]);
});

it("an inverse that throws a hostile value is reported like any other failure", async () => {
  const agent = desk(
    () => 1,
    () => Promise.reject(Object.create(null) as Error),
    1,
  );
  await agent.run("go");
  const durable = persistence(agent).agent();
  const [first] = await durable.getCheckpoints();
  await expect(durable.rollbackToCheckpoint(first?.checkpointId ?? "")).rejects.toMatchObject({
    code: "rollback_incomplete",
    failed: [expect.objectContaining({ toolName: "act" })],
  });
});
