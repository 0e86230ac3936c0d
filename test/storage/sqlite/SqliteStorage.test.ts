import { join } from "node:path";
import { AIAgent, Persistence, strategy } from "agent-persistence";
import { SqlitePersistenceStorageProvider, type SqliteDatabase } from "agent-persistence/sqlite";
import { FileBlobStore } from "agent-persistence/file";
import { processOwner, type OwnedLog } from "agent-persistence/storage";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { appendText, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { platformSha256 } from "../../../src/internal/sha256/platformSha256.ts";
import { encodeAppend } from "../../../src/storage/appends/encodeAppend.ts";
import { SqliteTable } from "../../../src/storage/sqlite/SqliteTable.ts";
import { sqliteFailure } from "../../../src/storage/sqlite/SqliteConnection.ts";
import { anyProcess } from "../../testing/conformance/anyProcess.ts";
import { collect, filesBelow, testDirectory } from "../file/support/fixture.ts";
import { hostileTexts } from "../engines/hostileTexts.ts";
import { AnswerLosingDatabase, libsql } from "./libsql.ts";
import { cases } from "../../soak/cases.ts";

/** How often one owner takes over from another that still writes. */
const rounds = cases(20, 200);
/** How many appends one agent gets. */
const appends = cases(1_000, 10_000);

/** A connection that tells of each write that another connection's lock refused. */
function tellingRefusals(database: SqliteDatabase, onRefused: () => void): SqliteDatabase {
  const tried = <Result>(call: () => Result): Result => {
    try {
      return call();
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === "SQLITE_BUSY") onRefused();
      throw error;
    }
  };
  return {
    exec: (sql) => tried(() => database.exec(sql)),
    prepare: (sql) => {
      const statement = database.prepare(sql);
      return {
        run: (...values) => tried(() => statement.run(...values)),
        get: (...values) => tried(() => statement.get(...values)),
        all: (...values) => tried(() => statement.all(...values)),
      };
    },
  };
}

async function path(): Promise<string> {
  return join(await testDirectory(), "agents.db");
}

function storageOn(database: SqliteDatabase, options: { readonly retryMs?: number } = {}) {
  return new SqlitePersistenceStorageProvider({ database, ...options }).log;
}

function settingsOf(database: SqliteDatabase): Readonly<Record<string, unknown>> {
  const names = ["page_size", "journal_mode", "synchronous", "busy_timeout"];
  return Object.fromEntries(
    names.map((name) => [name, Object.values(database.prepare(`PRAGMA ${name}`).get() as object)[0]]),
  );
}

/** In the order of their bytes. */
const texts = hostileTexts();

describe("the SQLite storage", () => {
  it("runs an agent that another connection resumes", async () => {
    const file = await path();
    const visited: string[] = [];
    const agent = (broken: boolean) => {
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
      const storage = new SqlitePersistenceStorageProvider({ database: libsql(file) });
      return new AIAgent({ promptExecutor, llmModel: "none", strategy: greet }).install(Persistence, { storage });
    };
    await expect(agent(true).run("Ada", { agentId: "a" })).rejects.toThrow("broken");
    expect(await agent(false).resume({ agentId: "a" })).toMatchObject({ status: "completed", output: "Hello, Ada!" });
    expect(visited).toEqual(["first"]);
  });

  it("configures a new file for durable appends and keeps the settings of an existing one", async () => {
    const [database, file] = [libsql(await path()), await path()];
    await storageOn(database).owner("a");
    expect(settingsOf(database)).toEqual({ page_size: 8192, journal_mode: "wal", synchronous: 2, busy_timeout: 5000 });
    const used = libsql(file);
    used.exec("CREATE TABLE mine (x); INSERT INTO mine VALUES (7); PRAGMA busy_timeout = 77");
    await storageOn(used).owner("a");
    expect(settingsOf(used)).toEqual({ page_size: 4096, journal_mode: "wal", synchronous: 2, busy_timeout: 77 });
    expect(used.prepare("SELECT x FROM mine").get()).toMatchObject({ x: 7 });
  });

  it("reports that an in-memory database ends with its process", async () => {
    const { capabilities } = storageOn(libsql(":memory:"));
    expect(capabilities).toMatchObject({ durable: false, processes: "one", machines: "one", narrows: true });
    expect(storageOn(libsql(await path())).capabilities).toMatchObject({ durable: true, processes: "many" });
  });

  it("refuses a connection with an open transaction", async () => {
    const database = libsql(await path());
    const log = storageOn(database);
    const owned = await log.open("a", processOwner());
    database.exec("BEGIN");
    await expect(appendText(owned, "1")).rejects.toMatchObject({ code: "storage_failed", reason: "io" });
    database.exec("ROLLBACK");
    const next = await log.open("a", processOwner());
    expect(next.position).toBe(0);
    await log.close();
  });

  it("refuses a database of a newer version", async () => {
    const database = libsql(await path());
    await storageOn(database).owner("a");
    database.exec("UPDATE agent_persistence SET version = 2");
    await expect(storageOn(database).owner("a")).rejects.toMatchObject({
      code: "unsupported_format",
      found: 2,
      supported: 1,
    });
  });

  it("refuses a path instead of a database, and unknown options", () => {
    expect(() => new SqlitePersistenceStorageProvider({ database: "agents.db" as unknown as SqliteDatabase })).toThrow(
      /database/,
    );
    const database = libsql(":memory:");
    expect(() => new SqlitePersistenceStorageProvider({ database, lease: 1 } as { database: SqliteDatabase })).toThrow(
      /leaseMs/,
    );
  });

  it("retries an append while another connection locks the database", async () => {
    const file = await path();
    const [database, other] = [libsql(file), libsql(file)];
    let refused = 0;
    const onRefused = () => {
      refused++;
      other.exec("ROLLBACK");
    };
    const log = storageOn(tellingRefusals(database, onRefused));
    const owned = await log.open("a", processOwner());
    database.exec("PRAGMA busy_timeout = 1");
    other.exec("BEGIN IMMEDIATE");
    expect(await appendText(owned, "1")).toBe(1);
    expect(refused).toBe(1);
    await log.close();
  });

  it("stores large values in files if it gets a blob store", async () => {
    const [file, directory] = [await path(), await testDirectory()];
    const storage = () =>
      new SqlitePersistenceStorageProvider({ database: libsql(file), blobs: new FileBlobStore({ directory }) });
    const large = "x".repeat(1_000_000);
    const greet = strategy<string, string>("greet", (graph) => {
      const first = graph.node("first", (name: string) => `${name}${large}`);
      graph.edge(graph.start, first);
      graph.edge(first, graph.finish);
    });
    const agent = () =>
      new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none", strategy: greet }).install(Persistence, {
        storage: storage(),
      });
    await agent().run("Ada", { agentId: "a", runId: "r" });
    expect((await agent().run("Ada", { agentId: "a", runId: "r" })).status).toBe("completed");
    expect(await storage().getLatestCheckpoint("a")).toMatchObject({ lastInput: `Ada${large}` });
    expect((await filesBelow(directory)).size).toBeGreaterThan(0);
    const [blobs] = libsql(file).prepare("SELECT count(*) AS count FROM agent_persistence_blobs").all();
    expect(blobs).toMatchObject({ count: 0 });
  });

  it("acknowledges no append of an owner that another owner has replaced", async () => {
    const file = await path();
    const start = () =>
      new SqlitePersistenceStorageProvider({
        database: libsql(file),
        clock: new SimulatedClock(),
        processIdentity: anyProcess,
      });
    const acknowledged: string[] = [];
    for (let round = 0; round < rounds; round++) {
      const [clock, { log: stale }] = [new SimulatedClock(), start()];
      const { log: next } = new SqlitePersistenceStorageProvider({
        database: libsql(file),
        clock,
        processIdentity: anyProcess,
      });
      const first = await stale.open("a", processOwner());
      await next.owner("a");
      clock.advance(15_000);
      const append = (owned: OwnedLog, text: string) =>
        appendText(owned, text).then(
          () => void acknowledged.push(text),
          () => {},
        );
      // Both at once: what the stale owner appends is there before the take-over, or is refused.
      const [second] = await Promise.all([next.open("a", processOwner()), append(first, `stale ${round}`)]);
      await Promise.all([append(first, `late ${round}`), append(second, `next ${round}`)]);
      await second.release();
      await expect(appendText(first, "too late")).rejects.toMatchObject({ code: "ownership_lost" });
    }
    const stored = (await collect(start().log.read("a"))).map(
      ({ records: [record] }) => (record as { readonly value?: string }).value,
    );
    expect(stored).toEqual(acknowledged);
    expect(acknowledged.filter((text) => text.startsWith("next"))).toHaveLength(rounds);
    expect(acknowledged.filter((text) => text.startsWith("late"))).toEqual([]);
  });

  it("recognizes a stored append whose response was lost", async () => {
    const database = new AnswerLosingDatabase(libsql(await path()));
    const log = storageOn(database);
    const owned = await log.open("a", processOwner());
    for (const summary of [undefined, exampleSummary("a", "queued")]) {
      database.losesAnswer = true;
      await appendText(owned, "x", summary && { summary });
    }
    expect((await collect(log.read("a"))).map(({ position }) => position)).toEqual([1, 2]);
    expect(await collect(log.list())).toMatchObject([{ status: "queued", position: 2 }]);
    await log.close();
  });

  it("grants no agent and renews no lease without a successful commit", async () => {
    const file = await path();
    const database = libsql(file);
    const log = storageOn(database);
    await (await log.open("a", processOwner())).release();
    // As on a full device, the statement is carried out, and its commit fails.
    const failing = `PRAGMA foreign_keys = ON; CREATE TABLE parents (id INTEGER PRIMARY KEY);
      CREATE TABLE children (parent REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED);
      CREATE TRIGGER failing AFTER UPDATE ON agent_persistence_agents BEGIN INSERT INTO children VALUES (7); END`;
    database.exec(failing);
    await expect(log.open("a", processOwner())).rejects.toMatchObject({ code: "storage_failed", operation: "claim" });
    expect(await storageOn(libsql(file)).owner("a")).toBeUndefined();
    const table = new SqliteTable(database);
    await expect(table.renew("a", 1, "1")).resolves.toBeUndefined();
    database.exec("DROP TRIGGER failing");
    const { generation } = await log.open("a", processOwner());
    expect(generation).toBe(2);
    database.exec(failing.slice(failing.indexOf("CREATE TRIGGER")));
    await expect(table.renew("a", 2, "1")).rejects.toMatchObject({ code: "SQLITE_CONSTRAINT_FOREIGNKEY" });
    database.exec("DROP TRIGGER failing");
    await log.close();
  });

  it("reports a full device when a claim does not fit", async () => {
    const database = libsql(await path());
    const log = storageOn(database);
    await log.owner("a");
    const { page_count: pages } = database.prepare("PRAGMA page_count").get() as { readonly page_count: number };
    database.exec(`PRAGMA max_page_count = ${pages}`);
    const owner = { ...processOwner(), nonce: "x".repeat(100_000) };
    await expect(log.open("a", owner)).rejects.toMatchObject({ code: "storage_failed", reason: "full" });
  });

  it("lists only the agent with a changed id as unreadable", async () => {
    const database = libsql(await path());
    const log = storageOn(database);
    for (const agentId of ["a", "b"]) {
      const owned = await log.open(agentId, processOwner());
      await appendText(owned, "1", { summary: exampleSummary(agentId, "queued", { order: agentId }) });
      await owned.release();
    }
    for (const id of ["a", "5", "{", '"b2"', '["b"]']) {
      database.prepare("UPDATE agent_persistence_agents SET id = ? WHERE key = 1").run(id);
      const listed = (await collect(log.list())).map(({ agentId, status }) => [agentId, status]);
      expect(listed).toEqual([
        ["a", "unreadable"],
        ["b", "queued"],
      ]);
      expect((await collect(log.list({ free: true, status: "queued" }))).map(({ agentId }) => agentId)).toEqual(["b"]);
    }
    await log.close();
  });

  it.each([
    ["agents", "beat", "x'00'"],
    ["agents", "owner", "x'00'"],
    ["summaries", "name", "7"],
    ["summaries", "name", "'text'"],
    ["summaries", "name", "x'ff'"],
    ["summaries", "place", "x'00ff'"],
    ["summaries", "summary", "x'00'"],
  ])("lists the other agents if the row of an agent in the table %s has the %s %s", async (table, column, value) => {
    const database = libsql(await path());
    const log = storageOn(database, { retryMs: 0 });
    for (const agentId of ["a", "b", "c"]) {
      const owned = await log.open(agentId, processOwner());
      await appendText(owned, "1", { summary: exampleSummary(agentId, "queued", { order: agentId }) });
      if (agentId !== "a") await owned.release();
    }
    const key = table === "agents" ? "key" : "agent";
    database.exec(`UPDATE agent_persistence_${table} SET ${column} = ${value} WHERE ${key} = 1`);
    for (const options of [{}, { free: true }, { status: "queued", free: true }] as const) {
      const listed = (await collect(log.list(options))).map(({ agentId }) => agentId);
      expect(listed.filter((agentId) => "bc".includes(agentId))).toEqual(["b", "c"]);
    }
    const [first] = await collect(log.list({ status: "queued", free: true, limit: 1 }));
    expect(first?.agentId).toBe("b");
    expect(await collect(log.list({ status: "queued", limit: 1 }))).toHaveLength(1);
    await log.close();
  });

  it("ends an ownership immediately when the disk is full", async () => {
    const database = new AnswerLosingDatabase(libsql(await path()));
    const log = storageOn(database);
    const owned = await log.open("a", processOwner());
    database.error = Object.assign(new Error("full"), { code: "SQLITE_FULL" });
    database.losesAnswer = true;
    await expect(appendText(owned, "x")).rejects.toMatchObject({ code: "storage_failed", reason: "full" });
    expect((await log.open("a", processOwner())).position).toBe(1);
    await log.close();
  });

  it.each([
    [{ code: "SQLITE_BUSY" }, "unavailable"],
    [{ code: "SQLITE_BUSY_RECOVERY" }, "unavailable"],
    [{ code: "ERR_SQLITE_ERROR", errcode: 5 }, "unavailable"],
    [{ code: "ERR_SQLITE_ERROR", errcode: 261 }, "unavailable"],
    [{ code: "ERR_SQLITE_ERROR", errcode: 13 }, "full"],
    [{ code: "SQLITE_READONLY_DBMOVED" }, "permission"],
    [{ code: "SQLITE_IOERR_FSYNC" }, "io"],
    [new TypeError("The database connection is not open"), "io"],
  ])("interprets the error %o", (error, reason) => {
    expect(sqliteFailure(error)).toBe(reason);
  });

  it("keeps ids, orders, reasons and owners with any character distinct and sorts by bytes", async () => {
    const log = storageOn(libsql(await path()));
    for (const text of texts.toReversed()) {
      const owned = await log.open(text, { host: text, processId: 1, nonce: `${text}\uD800` });
      await appendText(owned, text, { summary: exampleSummary(text, "queued", { order: text, taskName: "\uDC00" }) });
      await log.requestStop(text, `${text}\uD800`);
      expect(await log.owner(text)).toMatchObject({ host: text, nonce: `${text}\uD800` });
    }
    const listed = async (options: object) => (await collect(log.list(options))).map(({ agentId }) => agentId);
    expect(await listed({})).toEqual(texts);
    for (const [index, text] of texts.entries()) {
      expect(await listed({ after: text })).toEqual(texts.slice(index + 1));
      expect(await listed({ status: ["queued", "x"], after: text })).toEqual(texts.slice(index + 1));
    }
    await expect(log.open("\uD800", processOwner())).rejects.toMatchObject({ code: "invalid_agent_id" });
    await log.close();
  });

  it("keeps no data of an interrupted copy and accepts the copy the next time", async () => {
    const file = await path();
    const log = storageOn(libsql(file));
    const owned = await log.open("a", processOwner());
    for (let n = 1; n <= 250; n++) await appendText(owned, String(n));
    const lines = await collect(log.encodedAppends?.("a") as AsyncIterable<Uint8Array>);
    const last = () => ({ id: "last", records: [], summary: exampleSummary("b", "copied") });
    // Its process is killed when 200 of the lines are in the database.
    const cutShort = new Promise<void>((resolve) => {
      async function* some() {
        yield* lines.slice(0, 220);
        resolve();
        await new Promise(() => {});
      }
      void log.receive?.("b", { ...processOwner(), processId: 0 }, { appends: some(), generation: 1 }, last);
    });
    await cutShort;
    const database = libsql(file);
    const next = storageOn(database);
    expect(await collect(next.read("b"))).toEqual([]);
    expect(await collect(next.list())).toEqual([]);
    expect(database.prepare("SELECT count(*) AS n FROM agent_persistence_appends").get()).toMatchObject({ n: 450 });
    database.exec("UPDATE agent_persistence_agents SET owner = NULL WHERE id = '\"b\"'");
    const reference = await next.blobs.put("a", 1, new Uint8Array([1]));
    expect(await next.blobs.copy?.("a", reference, "b")).toBe(true);
    const received = await next.receive?.("b", processOwner(), { appends: lines, generation: 1 }, last);
    expect(received?.position).toBe(251);
    expect(await collect(next.read("b"))).toHaveLength(251);
    expect(await collect(next.list())).toMatchObject([{ agentId: "b", position: 251 }]);
    expect(await next.blobs.get("b", reference)).toEqual(new Uint8Array([1]));
    if (received) expect(await appendText(received, "on")).toBe(252);
    await received?.drop();
    await next.close();
    expect(database.prepare("SELECT count(*) AS n FROM agent_persistence_appends").get()).toMatchObject({ n: 250 });
  });

  it("refuses a copy with a position that would be stored among the appends of another agent", async () => {
    const log = storageOn(libsql(await path()));
    const sha256 = await platformSha256();
    const last = () => ({ id: "last", records: [], summary: exampleSummary("a", "copied") });
    const copied = async (position: number) => {
      const append = { id: "1-1", records: [{ kind: "example" }] };
      const { encoded } = encodeAppend("a", append, 1, { position: position - 1, checksum: "" }, sha256);
      return log.receive?.("a", processOwner(), { appends: [encoded.subarray(0, -1)], generation: 1 }, last);
    };
    for (const position of [2 ** 30 - 1, 2 ** 30 + 2, 2 ** 31 + 2, 2 ** 40])
      await expect(copied(position)).rejects.toMatchObject({ code: "storage_failed", reason: "io" });
    for (const agentId of ["b", "c", "d", "e"]) {
      const owned = await log.open(agentId, processOwner());
      expect([agentId, owned.position, owned.damage]).toEqual([agentId, 0, undefined]);
      expect(await appendText(owned, "1")).toBe(1);
      expect(await collect(log.read(agentId))).toHaveLength(1);
    }
    const owned = await copied(2 ** 30 - 2);
    expect(owned?.position).toBe(2 ** 30 - 1);
    if (owned) await expect(appendText(owned, "x")).rejects.toMatchObject({ code: "storage_failed", reason: "io" });
    await log.close();
  });

  it("reads thousands of appends, one of a megabyte, back in pages, and lists 250 agents", async () => {
    const log = storageOn(libsql(await path()));
    const owned = await log.open("a", processOwner());
    const large = "é😀\0".repeat(150_000);
    await appendText(owned, large);
    for (let n = 2; n <= appends; n++) await appendText(owned, "x", { snapshot: n % 400 === 0 });
    expect(await collect(log.read("a"))).toHaveLength(appends);
    expect((await collect(log.read("a", { upTo: 1 })))[0]?.records).toEqual([{ kind: "example", value: large }]);
    const newest = appends - (appends % 400);
    expect((await collect(log.read("a", { sinceSnapshot: true })))[0]?.position).toBe(newest);
    expect((await collect(log.read("a", { sinceSnapshot: true, upTo: 799 })))[0]?.position).toBe(400);
    for (let n = 0; n < 250; n++) {
      const agentId = `agent ${n}`;
      const other = await log.open(agentId, processOwner());
      await appendText(other, "x", { summary: exampleSummary(agentId, `status ${n % 3}`, { order: "the same" }) });
      await other.release();
    }
    expect(await collect(log.list())).toHaveLength(250);
    expect(new Set((await collect(log.list({ free: true }))).map(({ agentId }) => agentId)).size).toBe(250);
    await log.close();
  });
});
