import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { replayRun } from "agent-persistence/replay";
import { expect, it } from "vitest";

it.each([[undefined], [null], [{}], ["agent"]])("a replay refuses %j instead of an agent", async (agent) => {
  const storage = new InMemoryPersistenceStorageProvider();
  await expect(replayRun(agent as never, { storage, agentId: "a" })).rejects.toMatchObject({
    code: "invalid_input",
    message: expect.stringContaining("agent of replayRun()"),
  });
});
