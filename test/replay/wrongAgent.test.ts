import { AIAgent, InMemoryPersistenceStorageProvider, Persistence } from "agent-persistence";
import { createFixture, replayFixture, replayRun } from "agent-persistence/replay";
import { scriptedModel } from "agent-persistence/testing";
import { expect, it } from "vitest";

it.each([[undefined], [null], [{}], ["agent"]])("a replay refuses %j instead of an agent", async (agent) => {
  const storage = new InMemoryPersistenceStorageProvider();
  await expect(replayRun(agent as never, { storage, agentId: "a" })).rejects.toMatchObject({
    code: "invalid_input",
    message: expect.stringContaining("agent of replayRun()"),
  });
});

it("refuses an agent of another copy of the package, which it cannot run", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const agent = new AIAgent({ id: "a", promptExecutor: scriptedModel(["hi"]), llmModel: "none" });
  await agent.install(Persistence, { storage }).run("go");
  const foreign = { run: agent.run.bind(agent), asTool: () => ({ name: "replay" }) } as never;
  const refusal = { code: "invalid_input", message: expect.stringContaining("of this copy of agent-persistence") };
  await expect(replayRun(foreign, { storage, agentId: "a" })).rejects.toMatchObject(refusal);
  await expect(replayRun(foreign, { storage, agentId: "a", model: "live" })).rejects.toMatchObject(refusal);
  const fixture = await createFixture(storage, { agentId: "a" });
  await expect(replayFixture(foreign, fixture)).rejects.toMatchObject(refusal);
  await expect(replayFixture({} as never, fixture)).rejects.toMatchObject({ code: "invalid_input" });
});
