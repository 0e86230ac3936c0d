import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, tool } from "agent-persistence";
import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { processOwner } from "agent-persistence/storage";
import { TaskManager } from "agent-persistence/task";
import { scriptedModel } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { PostgresConnection } from "../../../src/storage/postgres/PostgresConnection.ts";
import { PostgresTable } from "../../../src/storage/postgres/PostgresTable.ts";
import type { TableSelection } from "../../../src/storage/table/LogTable.ts";
import { appendText, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { collect } from "../file/support/fixture.ts";
import { newSchema, pool, WatchedClient } from "./database.ts";
import { fillQueue } from "./fillQueue.ts";

/** A storage whose tables are there, and how many statements something takes. */
async function counting() {
  const database = await pool();
  const [client, schema] = [new WatchedClient(database), newSchema()];
  // Nobody renews a lease meanwhile.
  const storage = new PostgresPersistenceStorageProvider({ client, schema, leaseMs: 3_600_000 });
  await storage.log.owner("nobody");
  const count = async (action: () => Promise<unknown>) => {
    const before = client.texts.length;
    await action();
    return client.texts.length - before;
  };
  return { storage, count, database, schema };
}

/** Appends as they are stored, from a log that takes no round trips. */
async function linesInMemory(appends: number): Promise<Uint8Array[]> {
  const { log } = new InMemoryPersistenceStorageProvider();
  const owned = await log.open("b", processOwner());
  for (let n = 0; n < appends; n++) await appendText(owned, "x");
  return collect(log.encodedAppends?.("b") as AsyncIterable<Uint8Array>);
}

const last = { id: "last", records: [], summary: exampleSummary("b", "copied") };

const add = tool({
  name: "add",
  description: "adds 1",
  inputSchema: z.object({ a: z.number() }),
  execute: async ({ a }) => a + 1,
});

it("a run with one tool turn takes six round trips", async () => {
  const { storage, count } = await counting();
  const promptExecutor = scriptedModel([{ toolCalls: [{ toolName: "add", input: { a: 1 } }] }, "done"]);
  const agent = new AIAgent({ promptExecutor, llmModel: "m", tools: [add] }).install(Persistence, { storage });
  expect(await count(() => agent.run("x", { agentId: "a" }))).toBe(6);
});

it("an append takes one round trip, opening one, and a page of a log has 2,000 appends", async () => {
  const { storage, count } = await counting();
  const { log } = storage;
  const owned = await log.open("a", processOwner());
  expect(await count(() => appendText(owned, "x"))).toBe(1);
  expect(await count(() => owned.release())).toBe(1);
  expect(await count(() => log.open("a", processOwner()))).toBe(1);
  await log.receive?.("b", processOwner(), { appends: await linesInMemory(2_099), generation: 1 }, () => last);
  expect(await count(() => collect(log.read("b", { after: 1_000 })))).toBe(1);
  expect(await count(() => collect(log.read("b")))).toBe(3);
  await log.close();
});

it("an open reads an agent with one append, so that its first read takes no round trip", async () => {
  const { storage, count } = await counting();
  const { log } = storage;
  for (const agentId of ["a", "b"]) {
    const owned = await log.open(agentId, processOwner());
    await appendText(owned, "1");
    await owned.release();
  }
  const read = async (agentId: string) => (await collect(log.read(agentId))).map(({ position }) => position);
  const first = await log.open("a", processOwner());
  expect(await count(async () => expect(await read("a")).toEqual([1]))).toBe(0);
  expect(await count(async () => expect(await read("a")).toEqual([1]))).toBe(1);
  const other = await log.open("b", processOwner());
  await appendText(other, "2");
  expect(await count(async () => expect(await read("b")).toEqual([1, 2]))).toBe(1);
  await first.release();
  await log.open("a", processOwner()).then((owned) => owned.release());
  expect(await count(() => read("a"))).toBe(1);
  await log.close();
});

it("a search for tasks among 2,000 that run or wait takes four round trips, even if some are free", async () => {
  const { storage, count, database, schema } = await counting();
  await fillQueue(database, schema, { running: 1_500, waiting: 500 });
  const manager = new TaskManager({ storage });
  expect(await count(async () => expect(await collect(manager.claimable())).toEqual([]))).toBe(4);
  const ids = [0, 1, 700, 1_499].map((n) => `task ${n}`);
  const sql = `UPDATE ${schema}.agent_persistence_agents SET owner = NULL WHERE convert_from(id, 'UTF8') = ANY ($1)`;
  await database.query(sql, [ids]);
  const free = async () =>
    expect(
      (await collect(storage.log.list({ status: "in_progress", free: true }))).map(({ agentId }) => agentId),
    ).toEqual(ids);
  expect(await count(free)).toBe(1);
  await storage.log.close();
});

it("a page of free tasks can be longer if most have an owner, and states whether more follow", async () => {
  const { storage, database, schema } = await counting();
  await fillQueue(database, schema, { running: 7, waiting: 5 });
  const use = { client: database, schema, migrate: false, preparedStatements: false };
  const table = new PostgresTable(new PostgresConnection(use), undefined);
  const pages: string[][] = [];
  let after: TableSelection["after"];
  for (;;) {
    const { agents, more } = await table.list({ limit: 2, passingLimit: 4, after });
    pages.push(agents.map(({ agentId }) => agentId.replace("task ", "")));
    if (!more) break;
    after = agents.at(-1);
  }
  // The first seven have an owner.
  expect(pages.map((page) => page.join(" "))).toEqual(["0 1 2 3", "4 5 6 7", "8 9", "10 11", ""]);
  await storage.log.close();
});
