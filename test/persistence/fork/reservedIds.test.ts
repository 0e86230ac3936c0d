import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, persistence, strategy } from "agent-persistence";
import { TaskManager } from "agent-persistence/task";
import { importAgent } from "agent-persistence/transfer";
import { expect, it } from "vitest";
import { collect } from "../../storage/file/support/fixture.ts";

const reserved = ["inbox:victim", "rate:mail", "schedule:daily", "slot mail-0", "lock-once-x"];

it.each(reserved)("an agent cannot be created as %s, because the library stores other data there", async (agentId) => {
  const storage = new InMemoryPersistenceStorageProvider();
  const promptExecutor = { execute: () => Promise.reject(new Error("no model is asked")) };
  const echo = strategy<string, string>("echo", (graph) => {
    const node = graph.node("node", (input: string) => input);
    graph.edge(graph.start, node);
    graph.edge(node, graph.finish);
  });
  const agent = new AIAgent({ promptExecutor, llmModel: "none", strategy: echo }).install(Persistence, { storage });
  const refused = { code: "invalid_agent_id", message: expect.stringContaining("reserved") };
  await expect(agent.run("x", { agentId })).rejects.toMatchObject(refused);
  await expect(
    new TaskManager({ storage }).create({ taskId: agentId, taskName: "t", inputRequest: "x" }),
  ).rejects.toMatchObject(refused);
  await expect(importAgent(storage, (async function* () {})(), { agentId })).rejects.toMatchObject(refused);
  expect(await collect(storage.log.list())).toEqual([]);
  await agent.run("x", { agentId: "a" });
  await expect(persistence(agent).agent("a").fork(agentId)).rejects.toMatchObject(refused);
  expect(await collect(storage.log.list())).toHaveLength(1);
});
