import { readdir } from "node:fs/promises";
import { AIAgent, Persistence, persistence } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { testDirectory } from "../support/fixture.ts";

type Desk = AIAgent<string, string>;
const of = (agent: Desk) => persistence(agent).agent("nobody");

it.each<[string, (agent: Desk) => Promise<unknown>]>([
  ["resume", (agent) => agent.resume({ agentId: "nobody" })],
  ["resume with takeOver", (agent) => agent.resume({ agentId: "nobody", takeOver: true })],
  ["rollbackToCheckpoint", (agent) => of(agent).rollbackToCheckpoint("1-1")],
  ["cancel", (agent) => of(agent).cancel()],
  ["stop", (agent) => of(agent).stop({ reason: "enough" })],
  ["answer", (agent) => of(agent).answer("1", "yes")],
  ["settleToolCall", (agent) => of(agent).settleToolCall("1", "retry")],
  ["fork", (agent) => of(agent).fork("other", { checkpointId: "1-1" })],
  ["prune", (agent) => persistence(agent).prune({ agentId: "nobody" })],
  ["deleteAgent", (agent) => persistence(agent).deleteAgent("nobody")],
])("%s of an agent that does not exist leaves nothing on disk", async (_name, call) => {
  const directory = await testDirectory();
  const agent = new AIAgent({ llmModel: "m", promptExecutor: scriptedModel(["done"]) }).install(Persistence, {
    storage: new FilePersistenceStorageProvider({ directory }),
  });
  await agent.run("go", { agentId: "known" });
  const before = await readdir(directory, { recursive: true });
  await call(agent).catch(() => undefined);
  expect(await readdir(directory, { recursive: true })).toEqual(before);
  // The id is still free.
  expect(await agent.run("go", { agentId: "nobody" })).toMatchObject({ status: "completed" });
});
