import { AIAgent, Persistence, tool } from "agent-persistence";
import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { processOwner } from "agent-persistence/storage";
import { scriptedModel } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { appendText } from "../../../src/testing/log/logTest.ts";
import { collect } from "../file/support/fixture.ts";
import { newSchema, pool, WatchedClient } from "./database.ts";

/** A storage whose tables are there, and how many statements something takes. */
async function counting() {
  const [client, schema] = [new WatchedClient(await pool()), newSchema()];
  const storage = new PostgresPersistenceStorageProvider({ client, schema });
  await storage.log.owner("nobody");
  const count = async (action: () => Promise<unknown>) => {
    const before = client.texts.length;
    await action();
    return client.texts.length - before;
  };
  return { storage, count };
}

const add = tool({
  name: "add",
  description: "adds 1",
  inputSchema: z.object({ a: z.number() }),
  execute: async ({ a }) => a + 1,
});

it("a run with one tool turn takes eight round trips", async () => {
  const { storage, count } = await counting();
  const promptExecutor = scriptedModel([{ toolCalls: [{ toolName: "add", input: { a: 1 } }] }, "done"]);
  const agent = new AIAgent({ promptExecutor, llmModel: "m", tools: [add] }).install(Persistence, { storage });
  expect(await count(() => agent.run("x", { agentId: "a" }))).toBe(8);
});

it("an append is one round trip, opening two, a page of a log has 2,000 appends", async () => {
  const { storage, count } = await counting();
  const { log } = storage;
  const owned = await log.open("a", processOwner());
  expect(await count(() => appendText(owned, "x"))).toBe(1);
  for (let n = 1; n < 2_100; n++) await appendText(owned, "x");
  expect(await count(() => owned.release())).toBe(1);
  expect(await count(() => log.open("a", processOwner()))).toBe(2);
  expect(await count(() => collect(log.read("a", { after: 1_000 })))).toBe(1);
  expect(await count(() => collect(log.read("a")))).toBe(3);
  await log.close();
});
