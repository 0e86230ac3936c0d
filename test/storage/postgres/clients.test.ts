import { PGlite } from "@electric-sql/pglite";
import { type PostgresClient, PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { processOwner, type RecordLog } from "agent-persistence/storage";
import pg from "pg";
import postgres from "postgres";
import { expect, it } from "vitest";
import { appendText, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { prunedRecord } from "../../../src/testing/conformance/log/removalTests.ts";
import { collect } from "../file/support/fixture.ts";
import { databaseUrl, newSchema, pool } from "./database.ts";
import { soak } from "../../soak/cases.ts";

/** Every kind of statement, with every type of value. */
async function expectUsable(log: RecordLog): Promise<void> {
  const owned = await log.open("é", processOwner());
  for (let n = 1; n <= 5; n++) await appendText(owned, "x", { snapshot: n === 4 });
  const entries = await collect(log.read("é"));
  await owned.append({ id: "p", records: [prunedRecord(entries, 2, 3)], summary: exampleSummary("é", "queued") }, 5);
  await owned.prune();
  const bytes = new Uint8Array([0, 1, 255]);
  const reference = await log.blobs.put("é", 1, bytes);
  expect(await log.blobs.get("é", reference)).toEqual(bytes);
  await log.requestStop("é", "enough");
  expect(await log.owner("é")).toMatchObject({ generation: 1, state: "alive" });
  await owned.release();
  expect((await collect(log.read("é"))).map(({ position }) => position)).toEqual([1, 4, 5, 6]);
  expect((await collect(log.read("é", { sinceSnapshot: true })))[0]?.position).toBe(4);
  const dueBefore = "2027-01-01T00:00:00.000Z";
  expect(await collect(log.list({ status: ["queued", "other"], dueBefore, free: true }))).toMatchObject([
    { position: 6 },
  ]);
  const lines = await collect(log.encodedAppends?.("é") as AsyncIterable<Uint8Array>);
  const last = () => ({ id: "last", records: [], summary: exampleSummary("copy", "copied", { order: "2" }) });
  const copy = await log.receive?.("copy", processOwner(), { appends: lines, generation: 1 }, last);
  expect(await log.blobs.copy?.("é", reference, "copy")).toBe(true);
  expect(copy?.position).toBe(7);
  await copy?.drop();
  expect((await log.open("copy", processOwner())).position).toBe(7);
  await log.close();
}

/** It starts for ten seconds: a short run leaves it out. */
const slowClients = soak ? [() => new PGlite()] : [];

it.each(slowClients)("PGlite is a client", async (start) => {
  const client = start();
  await expectUsable(new PostgresPersistenceStorageProvider({ client }).log);
  await client.close();
});

it("postgres.js works through one function and wakes workers of other processes", async () => {
  const sql = postgres(await databaseUrl(), { onnotice: () => {} });
  const client: PostgresClient = {
    query: async (text, values) => ({ rows: await sql.unsafe(text, values as never[]) }),
  };
  const schema = newSchema();
  const storage = new PostgresPersistenceStorageProvider({
    client,
    schema,
    listen: async (channel, onWake, onReconnect) => {
      const listening = await sql.listen(channel, onWake, onReconnect);
      return { close: () => listening.unlisten() };
    },
  });
  await expectUsable(storage.log);
  await sql.end();
});

it("a listener wakes only when any process queues or releases a task", async () => {
  const [schema, database] = [newSchema(), await pool()];
  const listener = new pg.Client({ connectionString: await databaseUrl() });
  await listener.connect();
  const heard: string[] = [];
  const { log } = new PostgresPersistenceStorageProvider({
    client: database,
    schema,
    listen: async (channel, onWake) => {
      listener.on("notification", () => onWake());
      await listener.query(`LISTEN ${channel}`);
      return { close: () => listener.query(`UNLISTEN ${channel}`) };
    },
  });
  const other = new PostgresPersistenceStorageProvider({ client: database, schema }).log;
  let now = "";
  const watch = await log.watch?.(() => void heard.push(now));
  for (const status of ["waiting", "completed", "queued", "in_progress"]) {
    now = status;
    const owned = await other.open(status, processOwner());
    await appendText(owned, "x", { summary: exampleSummary(status, status, { order: status }) });
    await owned.release();
    // What was notified before is heard before the answer to this.
    await listener.query("SELECT 1");
  }
  expect(heard).toEqual(["queued", "in_progress"]);
  await watch?.close();
  await listener.end();
});
