import { expect, it } from "vitest";
import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, persistence } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";

it("an execution point in the default loop refuses an input that its node would refuse", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const agent = new AIAgent({ promptExecutor: scriptedModel(["done"]), llmModel: "scripted" });
  agent.install(Persistence, { storage });
  await agent.run("go");
  const durable = persistence(agent).agent();
  expect(durable.agentId).toBe("agent");
  const before = await durable.getCheckpoints();
  for (const nodeId of ["callTools", "callModel"]) {
    await expect(durable.setExecutionPoint({ nodeId, input: 5 })).rejects.toMatchObject({ code: "invalid_input" });
  }
  expect(await durable.getCheckpoints()).toEqual(before);
});
