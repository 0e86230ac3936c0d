import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { type OwnedLog, processOwner, type ProcessIdentity, type RecordLog } from "agent-persistence/storage";
import { expect, it } from "vitest";
import { appendText, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { anyProcess } from "../../testing/conformance/anyProcess.ts";
import { collect } from "../file/support/fixture.ts";
import { databaseUrl, newSchema, pool, poolOf } from "./database.ts";
import { PostgresServer } from "./server/PostgresServer.ts";
import { SwallowingProxy } from "./SwallowingProxy.ts";
import { cases } from "../../soak/cases.ts";

const [takeOvers, swallowed, kills, appends] = [cases(15, 200), cases(10, 200), cases(1, 5), cases(100, 10_000)];

/** What was acknowledged is there, in order and once. */
async function expectKept(log: RecordLog, acknowledged: readonly number[]): Promise<void> {
  const entries = await collect(log.read("a"));
  expect(entries.map(({ position }) => position)).toEqual(entries.map((_, index) => index + 1));
  expect(acknowledged.filter((position) => entries[position - 1]?.id !== `id ${position}`)).toEqual([]);
  const generations = entries.map(({ generation }) => generation);
  expect(generations).toEqual(generations.toSorted((a, b) => a - b));
}

/** Appends until there are so many, or until one fails; tells of each that was acknowledged. */
async function appendUntil(owned: OwnedLog, end: number, acknowledged: number[]): Promise<unknown> {
  try {
    while (owned.position < end)
      acknowledged.push(await owned.append({ id: `id ${owned.position + 1}`, records: [] }, owned.position));
    return undefined;
  } catch (error) {
    return error;
  }
}

it("a stale writer stores no append after a concurrent takeover", async () => {
  const [client, schema] = [await pool(), newSchema()];
  // To each, the other is a process that has ended.
  const isRunning: ProcessIdentity["isRunning"] = () => false;
  const processIdentity = { ...anyProcess, processStart: "1", isRunning };
  const logs = [1, 2].map(() => new PostgresPersistenceStorageProvider({ client, schema, processIdentity }).log);
  const acknowledged: number[] = [];
  let owned = await (logs[0] as RecordLog).open("a", { ...processOwner(), processId: 1 });
  let lost = 0;
  for (let round = 1; round <= takeOvers; round++) {
    const appending = appendUntil(owned, owned.position + 20, acknowledged);
    const next = await (logs[round % 2] as RecordLog)
      .open("a", { ...processOwner(), processId: 1 })
      .catch((error: unknown) => {
        expect(error).toMatchObject({ code: "agent_busy" });
      });
    const error = await appending;
    if (next === undefined) continue;
    if (error !== undefined) {
      expect(error).toMatchObject({ code: "ownership_lost" });
      lost++;
    }
    expect(next.position).toBe(acknowledged.at(-1) ?? 0);
    owned = next;
  }
  expect(lost).toBeGreaterThan(0);
  await expectKept(logs[0] as RecordLog, acknowledged);
  for (const log of logs) await log.close();
});

it("an append whose response is lost with its connection is stored once, and the run continues", async () => {
  const { proxy, url } = await SwallowingProxy.before(await databaseUrl());
  const client = poolOf(url, 1);
  const { log } = new PostgresPersistenceStorageProvider({ client, schema: newSchema() });
  const owned = await log.open("a", processOwner());
  const acknowledged: number[] = [];
  for (let n = 1; n <= swallowed; n++) {
    proxy.swallowsNext = true;
    expect(await appendUntil(owned, 2 * n, acknowledged)).toBeUndefined();
  }
  expect(acknowledged).toHaveLength(2 * swallowed);
  await expectKept(log, acknowledged);
  await log.close();
  await client.end();
  await proxy.close();
});

it("an append whose response never arrives is stored once, when the client times out", async () => {
  const { proxy, url } = await SwallowingProxy.before(await databaseUrl());
  const pool = poolOf(url, 1);
  const client = {
    // Only the statement without an answer has a short time: the others may take theirs.
    query: (text: string, values: unknown[] = []) =>
      pool.query({ text, values, ...(proxy.silencesNext && { query_timeout: 100 }) }),
  };
  const { log } = new PostgresPersistenceStorageProvider({ client, schema: newSchema() });
  const owned = await log.open("a", processOwner());
  const acknowledged: number[] = [];
  for (let n = 1; n <= 3; n++) {
    proxy.silencesNext = true;
    expect(await appendUntil(owned, 2 * n, acknowledged)).toBeUndefined();
  }
  await expectKept(log, acknowledged);
  await log.close();
  await pool.end();
  await proxy.close();
});

it("a server that is killed during appends keeps the acknowledged ones, and the owner continues after the restart", async () => {
  const server = await PostgresServer.start();
  try {
    const client = poolOf(server.url);
    const { log } = new PostgresPersistenceStorageProvider({ client });
    const owned = await log.open("a", processOwner());
    const acknowledged: number[] = [];
    for (let kill = 1; kill <= kills; kill++) {
      const before = owned.position;
      const appending = appendUntil(owned, before + 60, acknowledged);
      await expect.poll(() => owned.position, { interval: 1 }).toBeGreaterThan(before + 10 + kill);
      await server.kill();
      await server.restart();
      expect(await appending).toBeUndefined();
    }
    await expectKept(log, acknowledged);
    await log.close();
    await client.end();
  } finally {
    await server.stop();
  }
});

it(`stores ${appends} appends from two concurrent agents`, async () => {
  const { log } = new PostgresPersistenceStorageProvider({ client: await pool(), schema: newSchema() });
  const write = async (agentId: string) => {
    const owned = await log.open(agentId, processOwner());
    for (let n = 0; n < appends; n++) await appendText(owned, "x", { snapshot: n % 100 === 0 });
  };
  await Promise.all(["a", "b"].map(write));
  for (const agentId of ["a", "b"]) expect(await collect(log.read(agentId))).toHaveLength(appends);
  expect(await collect(log.read("a", { sinceSnapshot: true }))).toHaveLength(100);
  await log.close();
});

it("a drop with a broken connection removes no data, and the next owner can drop the agent", async () => {
  const [client, schema] = [await pool(), newSchema()];
  const { log } = new PostgresPersistenceStorageProvider({ client, schema });
  const owned = await log.open("a", processOwner());
  await appendText(owned, "x", { summary: exampleSummary("a", "queued") });
  const reference = await log.blobs.put("a", 1, new Uint8Array([1]));
  const other = await client.connect();
  await other.query(`BEGIN; SELECT FROM ${schema}.agent_persistence_summaries FOR UPDATE`);
  const dropping = owned.drop().catch((error: unknown) => error);
  const cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1";
  await expect.poll(async () => (await client.query(cut, [`%${schema}%`])).rows.length, { interval: 5 }).toBe(1);
  expect(await dropping).toMatchObject({ code: "storage_failed", reason: "unavailable" });
  await other.query("ROLLBACK");
  other.release();
  expect(await collect(log.read("a"))).toHaveLength(1);
  expect(await collect(log.list({ free: true }))).toHaveLength(1);
  expect(await log.blobs.get("a", reference)).toBeDefined();
  const next = await log.open("a", processOwner());
  await next.drop();
  expect([await collect(log.read("a")), await collect(log.list()), await log.blobs.get("a", reference)]).toEqual([
    [],
    [],
    undefined,
  ]);
  await log.close();
});
