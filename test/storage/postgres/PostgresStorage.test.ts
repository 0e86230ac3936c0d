import { AIAgent, Persistence, strategy } from "agent-persistence";
import {
  type PostgresClient,
  postgresMigrations,
  PostgresPersistenceStorageProvider,
  type PostgresProviderOptions,
} from "agent-persistence/postgres";
import { type OwnedLog, processOwner, type RecordLog } from "agent-persistence/storage";
import { describe, expect, it, onTestFinished } from "vitest";
import { postgresFailure } from "../../../src/storage/postgres/PostgresConnection.ts";
import { appendText, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { prunedRecord } from "../../../src/testing/conformance/log/removalTests.ts";
import { collect } from "../file/support/fixture.ts";
import { hostileTexts } from "../engines/hostileTexts.ts";
import { databaseUrl, newSchema, pool, poolOf, WatchedClient } from "./database.ts";

type Options = Omit<Partial<PostgresProviderOptions>, "schema"> & { readonly schema?: string };

async function storageIn(options: Options = {}): Promise<PostgresPersistenceStorageProvider> {
  return new PostgresPersistenceStorageProvider({ client: await pool(), schema: newSchema(), ...options });
}

async function logIn(options: Options = {}): Promise<RecordLog> {
  return (await storageIn(options)).log;
}

async function tablesIn(schema: string): Promise<number> {
  const sql = "SELECT count(*) AS n FROM pg_tables WHERE schemaname = $1";
  return Number((await (await pool()).query(sql, [schema])).rows[0]?.n);
}

/** In the order of their bytes. */
const texts = hostileTexts();

describe("the Postgres storage", () => {
  it("runs an agent that another process resumes", async () => {
    const [schema, visited] = [newSchema(), [] as string[]];
    const agent = async (broken: boolean) => {
      const greet = strategy<string, string>("greet", (graph) => {
        const first = graph.node("first", (name: string) => `Hello, ${name}${visited.push("first") && ""}`);
        const second = graph.node("second", (greeting: string) => {
          if (broken) throw new Error("broken");
          return `${greeting}!`;
        });
        graph.edge(graph.start, first);
        graph.edge(first, second);
        graph.edge(second, graph.finish);
      });
      const promptExecutor = { execute: () => Promise.reject(new Error("no model is asked")) };
      const storage = await storageIn({ schema });
      return new AIAgent({ promptExecutor, llmModel: "none", strategy: greet }).install(Persistence, { storage });
    };
    await expect((await agent(true)).run("Ada", { agentId: "a" })).rejects.toThrow("broken");
    const resumed = await (await agent(false)).resume({ agentId: "a" });
    expect(resumed).toMatchObject({ status: "completed", output: "Hello, Ada!" });
    expect(visited).toEqual(["first"]);
  });

  it("keeps ids, orders, statuses, reasons and owners with any character distinct and sorts by bytes", async () => {
    const log = await logIn();
    for (const text of texts.toReversed()) {
      const owned = await log.open(text, { host: text, processId: 1, nonce: `${text}\uD800` });
      const status = text.slice(-30);
      await appendText(owned, text, { summary: exampleSummary(text, status, { order: text, taskName: "\uDC00" }) });
      await log.requestStop(text, text);
      expect(await log.owner(text)).toMatchObject({ host: text, nonce: `${text}\uD800` });
    }
    const listed = async (options: object) => (await collect(log.list(options))).map(({ agentId }) => agentId);
    expect(await listed({})).toEqual(texts);
    for (const [index, text] of texts.entries()) {
      expect(await listed({ after: text })).toEqual(texts.slice(index + 1));
      expect(await listed({ status: text.slice(-30) })).toEqual([text]);
    }
    await expect(log.open("\uD800", processOwner())).rejects.toMatchObject({ code: "invalid_agent_id" });
    await log.close();
  });

  it("lists an agent whose name in the list was changed as unreadable, and all agents after it", async () => {
    const schema = newSchema();
    const log = await logIn({ schema });
    const agentIds = Array.from({ length: 120 }, (_, n) => `agent-${n + 100}`);
    for (const some of [agentIds.slice(0, 100), agentIds.slice(100)])
      await log.createMany?.(
        some.map((agentId) => ({
          agentId,
          append: { id: "1-1", records: [], summary: exampleSummary(agentId, "queued", { order: agentId }) },
        })),
      );
    const named = "convert_to('agent-105', 'UTF8')";
    const sql = `UPDATE ${schema}.agent_persistence_summaries SET name = convert_to('x', 'UTF8') WHERE name = ${named}`;
    await (await pool()).query(sql);
    for (const options of [{}, { free: true }, { status: ["queued", "unreadable"], free: true }] as const) {
      const listed = await collect(log.list(options));
      expect(listed.map(({ agentId }) => agentId)).toEqual(agentIds.map((id) => (id === "agent-105" ? "x" : id)));
      expect(listed.filter(({ status }) => status !== "queued")).toMatchObject([
        { agentId: "x", status: "unreadable" },
      ]);
    }
    await log.close();
  });

  it.each([
    "agents SET renewed = 'infinity'",
    "agents SET renewed = '-infinity'",
    "agents SET renewed = '294276-12-31'",
    "agents SET owner = 'x'",
    "agents SET generation = 9223372036854775807",
    "summaries SET name = '\\xff'",
    "summaries SET place = '\\x00ff'",
    "summaries SET summary = ''",
  ])("lists the other agents after the change %s of one agent", async (change) => {
    const schema = newSchema();
    const log = await logIn({ schema, retryMs: 0 });
    for (const agentId of ["a", "b", "c"]) {
      const owned = await log.open(agentId, processOwner());
      await appendText(owned, "1", { summary: exampleSummary(agentId, "queued", { order: agentId }) });
      if (agentId !== "a") await owned.release();
    }
    const key = change.startsWith("agents") ? "id" : "name";
    await (await pool()).query(`UPDATE ${schema}.agent_persistence_${change} WHERE ${key} = convert_to('a', 'UTF8')`);
    for (const options of [{}, { free: true }, { status: "queued", free: true }] as const) {
      const listed = (await collect(log.list(options))).map(({ agentId }) => agentId);
      expect(listed.filter((agentId) => "bc".includes(agentId))).toEqual(["b", "c"]);
    }
    expect(await collect(log.list({ status: "queued", limit: 1 }))).toHaveLength(1);
    await log.close();
  });

  it.each([
    ["its last append is missing", "DELETE FROM S.agent_persistence_appends WHERE position = 3"],
    ["its stated end is too low", "UPDATE S.agent_persistence_agents SET position = 1"],
    ["its stated end is too high", "UPDATE S.agent_persistence_agents SET position = 77"],
  ])("reports a damaged log when %s, and drops it", async (_how, sql) => {
    const schema = newSchema();
    const log = await logIn({ schema });
    const first = await log.open("a", processOwner());
    for (const text of ["1", "2", "3"]) await appendText(first, text);
    await first.release();
    await (await pool()).query(sql.replace("S.", `${schema}.`));
    const owned = await log.open("a", processOwner());
    await expect(appendText(owned, "x")).rejects.toMatchObject({ code: "corrupt_log", agentId: "a" });
    await owned.drop();
    const next = await log.open("a", processOwner());
    expect(next.damage).toBeUndefined();
    expect(await appendText(next, "x")).toBe(next.position);
    await log.close();
  });

  it.each([
    ["an append and a release", 2, (owned: OwnedLog) => appendText(owned, "2").then(() => owned.release())],
    ["a deletion", 1, (owned: OwnedLog) => owned.drop()],
  ])("opens at the end of the log after it waited for %s of another process", async (_change, end, change) => {
    const schema = newSchema();
    const first = await (await pool()).connect();
    onTestFinished(() => first.release());
    const [other, log] = [await logIn({ client: first, schema }), await logIn({ schema })];
    const owned = await other.open("a", processOwner());
    await appendText(owned, "1");
    await first.query("BEGIN");
    await change(owned);
    const opened = log.open("a", processOwner());
    const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1";
    await expect.poll(async () => (await (await pool()).query(waiting, [`%${schema}%`])).rows.length).toBe(1);
    await first.query("COMMIT");
    expect((await opened).position).toBe(end);
    await appendText(await opened, "next");
    expect((await collect(log.read("a"))).at(-1)?.position).toBe(end + 1);
    await log.close();
  });

  it("stores values of a megabyte as lines and as blobs", async () => {
    const log = await logIn();
    const owned = await log.open("a", processOwner());
    const text = "é".repeat(524_288);
    for (let n = 0; n < 5; n++) await appendText(owned, text);
    const bytes = new TextEncoder().encode(text);
    const reference = await log.blobs.put("a", 1, bytes);
    const values = (await collect(log.read("a"))).map(({ records: [record] }) => (record as { value?: string }).value);
    expect(values.map((value) => value === text)).toEqual(Array(5).fill(true));
    expect(Buffer.compare((await log.blobs.get("a", reference)) ?? new Uint8Array(), bytes)).toBe(0);
    await log.close();
  });

  it("reads a consistent log while another process prunes it", async () => {
    const client = new WatchedClient(await pool());
    const schema = newSchema();
    const [log, reader] = [await logIn({ schema }), await logIn({ schema, client })];
    const owned = await log.open("a", processOwner());
    // Two pages.
    for (let n = 1; n <= 8; n++) await appendText(owned, "x".repeat(1_000_000));
    const before = await collect(reader.read("a"));
    client.afterNext = async () => {
      const record = prunedRecord(before, 2, 7);
      await owned.append({ id: "pruning", records: [record] }, 8);
      await owned.prune();
    };
    const positions = (await collect(reader.read("a"))).map(({ position }) => position);
    expect([
      [1, 8, 9],
      [1, 2, 3, 4, 5, 6, 7, 8],
    ]).toContainEqual(positions);
    expect((await collect(reader.read("a"))).map(({ position }) => position)).toEqual([1, 8, 9]);
    await log.close();
  });

  it("drops an agent completely although the response is lost", async () => {
    const client = new WatchedClient(await pool());
    const schema = newSchema();
    const log = await logIn({ schema, client });
    const owned = await log.open("a", processOwner());
    await appendText(owned, "x", { summary: exampleSummary("a", "queued") });
    await log.blobs.put("a", 1, new Uint8Array([1]));
    client.losesAnswer = true;
    await expect(owned.drop()).rejects.toMatchObject({ code: "storage_failed", reason: "unavailable" });
    expect(await collect(log.list())).toEqual([]);
    const rows = ["appends", "summaries", "blobs"].map(
      (table) => `(SELECT count(*) FROM ${schema}.agent_persistence_${table})`,
    );
    expect((await client.query(`SELECT ${rows.join(" + ")} AS n`)).rows).toEqual([{ n: "0" }]);
    const next = await log.open("a", processOwner());
    expect([next.position, next.generation]).toEqual([1, 2]);
    await log.close();
  });

  it("recognizes a stored append whose response was lost", async () => {
    const client = new WatchedClient(await pool());
    const log = await logIn({ client });
    const owned = await log.open("a", processOwner());
    for (const summary of [undefined, exampleSummary("a", "queued")]) {
      client.losesAnswer = true;
      await appendText(owned, "x", summary && { summary });
    }
    expect((await collect(log.read("a"))).map(({ position }) => position)).toEqual([1, 2]);
    expect(await collect(log.list())).toMatchObject([{ status: "queued", position: 2 }]);
    await log.close();
  });

  it("works behind a transaction pooler, with each statement on another connection", async () => {
    const url = await databaseUrl();
    const client: PostgresClient = {
      async query(text, values) {
        const once = poolOf(url, 1);
        return await once.query(text, values).finally(() => void once.end());
      },
    };
    const log = await logIn({ client });
    const owned = await log.open("a", processOwner());
    await appendText(owned, "x", { summary: exampleSummary("a", "queued") });
    await owned.release();
    expect(await collect(log.read("a"))).toHaveLength(1);
    await log.close();
  });

  it("prepares statements once if this is enabled", async () => {
    const one = poolOf(await databaseUrl(), 1);
    const log = await logIn({ client: one, preparedStatements: true });
    const owned = await log.open("a", processOwner());
    for (let n = 0; n < 3; n++) await appendText(owned, "x");
    const sql = "SELECT count(*) AS n FROM pg_prepared_statements WHERE name LIKE 'agent_persistence_%'";
    expect(Number((await one.query(sql)).rows[0]?.n)).toBeGreaterThan(1);
    // A pooler hands the connection to somebody else.
    await one.query("DEALLOCATE ALL");
    await expect(log.open("b", processOwner())).rejects.toMatchObject({
      code: "storage_failed",
      reason: "io",
      message: expect.stringContaining("Pass preparedStatements: false"),
    });
    await one.end();
  });

  it("refuses unknown and unusable options", () => {
    const client = { query: () => Promise.resolve({ rows: [] }) };
    const storage = (options: object) => () => new PostgresPersistenceStorageProvider({ client, ...options });
    expect(storage({ client: "postgres://" })).toThrow(/client/);
    expect(storage({ leaseMS: 1 })).toThrow(/leaseMs/);
    for (const schema of ["", "a\0b", "pg_mine", "\uD800", "x".repeat(64), "é".repeat(32)])
      expect(storage({ schema })).toThrow(/schema/);
    expect(() => postgresMigrations({ schema: "" })).toThrow(/schema/);
  });

  it("explains how to create missing tables", async () => {
    const [schema, database] = [newSchema(), await pool()];
    const log = await logIn({ schema });
    await log.owner("a");
    await database.query(`DROP SCHEMA ${schema} CASCADE`);
    const message = expect.stringContaining("Run migrate() of the storage, or the statements of postgresMigrations()");
    await expect(log.owner("a")).rejects.toMatchObject({ code: "storage_failed", reason: "io", message });
  });

  it("fails at once after its pool was ended", async () => {
    const client = poolOf(await databaseUrl(), 1);
    const { log } = await storageIn({ client, schema: newSchema() });
    await client.end();
    const message = expect.stringContaining("The client was ended.");
    await expect(log.owner("a")).rejects.toMatchObject({ code: "storage_failed", reason: "io", message });
  });

  it.each([
    [{ code: "57P01" }, "unavailable"],
    [{ code: "08006" }, "unavailable"],
    [{ code: "ECONNRESET" }, "unavailable"],
    [{ code: "EPIPE" }, "unavailable"],
    [new Error("Connection terminated unexpectedly"), "unavailable"],
    [{ code: "40001" }, "unavailable"],
    [{ code: "53300" }, "unavailable"],
    [{ code: "53100" }, "full"],
    [{ code: "42501" }, "permission"],
    [{ code: "28P01" }, "permission"],
    [{ code: "58030" }, "io"],
    [{ code: "42P01" }, "io"],
  ])("interprets the error %o", (error, reason) => {
    expect(postgresFailure(error)).toBe(reason);
  });
});

describe("the tables of a Postgres storage", () => {
  it("are created once by eight concurrent processes", async () => {
    const schema = newSchema();
    const url = await databaseUrl();
    const clients = Array.from({ length: 8 }, () => poolOf(url, 1));
    await Promise.all(clients.map(async (client) => (await storageIn({ client, schema })).migrate()));
    expect(await tablesIn(schema)).toBe(6);
    const versions = await (await pool()).query(`SELECT version FROM ${schema}.agent_persistence_migrations`);
    expect(versions.rows).toEqual([{ version: 1 }, { version: 2 }, { version: 3 }, { version: 4 }, { version: 5 }]);
    await Promise.all(clients.map((client) => client.end()));
  });

  it("are independent in two schemas with any names", async () => {
    const unique = newSchema();
    const hostile = `${unique}"; DROP TABLE x; -- '\\$$ 😀`;
    const [one, other] = [await logIn({ schema: hostile }), await logIn({ schema: unique })];
    for (const log of [one, other]) expect((await log.open("a", processOwner())).generation).toBe(1);
    expect(await tablesIn(hostile)).toBe(6);
    await one.close();
    await other.close();
  });

  it("are refused with storage_not_ready if missing and with unsupported_format if newer", async () => {
    const schema = newSchema();
    const storage = await storageIn({ schema, migrate: false });
    const message = expect.stringContaining("Run migrate() of the storage, or the statements of postgresMigrations()");
    const failed = { code: "storage_not_ready", found: 0, needed: 5, message };
    await expect(storage.log.open("a", processOwner())).rejects.toMatchObject(failed);
    await storage.migrate();
    const owned = await storage.log.open("a", processOwner());
    await owned.release();
    await (await pool()).query(`INSERT INTO ${schema}.agent_persistence_migrations (version) VALUES (6)`);
    const newer = { code: "unsupported_format", found: 6, supported: 5 };
    await expect((await logIn({ schema })).owner("a")).rejects.toMatchObject(newer);
  });

  it("of an older version are refused until a migration updates them", async () => {
    const [schema, admin] = [newSchema(), await pool()];
    const [first] = postgresMigrations({ schema });
    for (const statement of first?.statements ?? []) await admin.query(statement);
    const refused = (await logIn({ schema, migrate: false })).owner("a");
    await expect(refused).rejects.toMatchObject({ code: "storage_not_ready", found: 1, needed: 5 });
    const owned = await (await logIn({ schema })).open("a", processOwner());
    await appendText(owned, "x", { summary: exampleSummary("a", "queued") });
    expect(owned.position).toBe(1);
  });

  it("can be created by another role from the statements of postgresMigrations()", async () => {
    const [schema, admin] = [newSchema(), await pool()];
    const role = `role_${schema}`;
    onTestFinished(async () => void (await admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)));
    for (const { statements } of postgresMigrations({ schema }))
      for (const statement of statements) await admin.query(statement);
    await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
    await admin.query(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`);
    await admin.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`);
    const url = new URL(await databaseUrl());
    Object.assign(url, { username: role, password: "secret" });
    const client = poolOf(url.href, 2);
    const log = await logIn({ client, schema, migrate: false });
    const owned = await log.open("a", processOwner());
    await appendText(owned, "x", { summary: exampleSummary("a", "queued") });
    await log.blobs.put("a", 1, new Uint8Array([1]));
    await owned.drop();
    await log.close();
    // It may also be asked to migrate what is there, and is told what it may not do elsewhere.
    await (await storageIn({ client, schema })).migrate();
    const elsewhere = await storageIn({ client });
    await expect(elsewhere.migrate()).rejects.toMatchObject({
      code: "storage_failed",
      reason: "permission",
      message: expect.stringContaining("(permission, 42501). Grant the role of the client USAGE on the schema"),
    });
    await client.end();
  });
});
