import { join } from "node:path";
import { AIAgent, Persistence, type PersistenceStorageProvider, tool } from "agent-persistence";
import { DynamoDBPersistenceStorageProvider } from "agent-persistence/dynamodb";
import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { type SqliteDatabase, SqlitePersistenceStorageProvider, type SqliteValue } from "agent-persistence/sqlite";
import { scriptedModel } from "agent-persistence/testing";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { seededNumbers } from "../../../src/testing/powerLoss/RecordedTree.ts";
import { testSeed } from "../../testSeed.ts";
import { FakeDynamoDB } from "../dynamodb/support/FakeDynamoDB.ts";
import { connectionBroke, WatchedDynamoDB } from "../dynamodb/support/WatchedDynamoDB.ts";
import { testDirectory } from "../file/support/fixture.ts";
import { databaseUrl, newSchema, pool } from "../postgres/database.ts";
import { type ProxyFault, SwallowingProxy } from "../postgres/SwallowingProxy.ts";
import { libsql } from "../sqlite/libsql.ts";
import { cases } from "../../soak/cases.ts";

const agents = cases(1, 60);
const turns = 4;

/** Numbers from 0 to 1. */
type Chance = () => number;

/** Opens a storage whose connection fails at random, once it is armed. */
type Open = (chance: Chance, isArmed: () => boolean) => Promise<PersistenceStorageProvider>;

const storages: readonly (readonly [name: string, open: Open])[] = [
  ["Postgres, behind a proxy that drops, cuts, half-closes, silences and delays its connection", behindProxy],
  ["SQLite, locked by another process", lockedSqlite],
  ["DynamoDB, which throttles, fails and loses responses", throttlingDynamoDB],
];

const answerFaults: readonly ProxyFault[] = ["drop", "half_close", "delay", "drop", "half_close", "delay", "silence"];

async function behindProxy(chance: Chance, isArmed: () => boolean): Promise<PersistenceStorageProvider> {
  const [schema, { proxy, url }] = [newSchema(), await SwallowingProxy.before(await databaseUrl())];
  await new PostgresPersistenceStorageProvider({ client: await pool(), schema }).migrate();
  proxy.fault = (side) => {
    if (!isArmed() || chance() > 0.1) return undefined;
    return side === "request" ? "cut" : answerFaults[Math.floor(chance() * answerFaults.length)];
  };
  const limits = { connectionTimeoutMillis: 2_000, query_timeout: 1_000 };
  const client = new pg.Pool({ connectionString: url, max: 1, allowExitOnIdle: true, ...limits });
  client.on("error", () => {});
  onTestFinished(async () => {
    await client.end();
    await proxy.close();
  });
  return new PostgresPersistenceStorageProvider({ client, schema });
}

async function lockedSqlite(chance: Chance, isArmed: () => boolean): Promise<PersistenceStorageProvider> {
  const database = libsql(join(await testDirectory(), "agents.db"));
  const assertFree = (sql: string) => {
    if (isArmed() && /^\s*(BEGIN|COMMIT|INSERT|UPDATE|DELETE|SELECT)/.test(sql) && chance() < 0.1)
      throw Object.assign(new Error("database is locked"), { code: "SQLITE_BUSY" });
  };
  const locked: SqliteDatabase = {
    exec: (sql) => {
      assertFree(sql);
      return database.exec(sql);
    },
    prepare: (sql) => {
      const statement = database.prepare(sql);
      const checked =
        <Result>(method: (...values: SqliteValue[]) => Result) =>
        (...values: SqliteValue[]): Result => {
          assertFree(sql);
          return method(...values);
        };
      return {
        run: checked((...values) => statement.run(...values)),
        get: checked((...values) => statement.get(...values)),
        all: checked((...values) => statement.all(...values)),
      };
    },
  };
  return new SqlitePersistenceStorageProvider({ database: locked });
}

const refusals = ["ThrottlingException", "ProvisionedThroughputExceededException", "InternalServerError"];

async function throttlingDynamoDB(chance: Chance, isArmed: () => boolean): Promise<PersistenceStorageProvider> {
  const client = new WatchedDynamoDB(new FakeDynamoDB());
  client.onRequest = () => {
    if (!isArmed() || chance() > 0.1) return;
    const kind = Math.floor(chance() * (refusals.length + 2));
    if (kind === refusals.length) throw connectionBroke();
    client.losesAnswer = kind > refusals.length;
    if (kind < refusals.length) throw Object.assign(new Error("refused"), { name: refusals[kind] });
  };
  return new DynamoDBPersistenceStorageProvider({ client, tableName: "agents" });
}

/** An agent that pays once in each turn, and what it has paid. */
function payer(storage: PersistenceStorageProvider) {
  const paid: number[] = [];
  const pay = tool({
    name: "pay",
    description: "Pays.",
    inputSchema: z.object({ bill: z.number() }),
    effect: "irreversible",
    execute: ({ bill }) => paid.push(bill),
  });
  const calls = Array.from({ length: turns }, (_, bill) => ({ toolCalls: [{ toolName: "pay", input: { bill } }] }));
  const agent = () =>
    new AIAgent({ promptExecutor: scriptedModel([...calls, "paid"]), llmModel: "none", tools: [pay] }).install(
      Persistence,
      { storage },
    );
  return { agent, paid };
}

const bills = Array.from({ length: turns }, (_, bill) => bill);

describe("an agent on unreliable storage", () => {
  it.each(storages)("%s completes and pays each bill once", async (_, open) => {
    const numbers = seededNumbers(testSeed);
    let isArmed = false;
    const storage = await open(
      () => numbers(),
      () => isArmed,
    );
    for (let at = 0; at < agents; at++) {
      const { agent, paid } = payer(storage);
      isArmed = true;
      const result = await agent().run("pay", { agentId: `payer ${at}` });
      isArmed = false;
      expect([result.status, paid]).toEqual(["completed", bills]);
    }
  });
});

it("an agent on a full SQLite database ends with storage_failed and continues after space is freed", async () => {
  const database = libsql(join(await testDirectory(), "agents.db"));
  const storage = new SqlitePersistenceStorageProvider({ database });
  const [first, second] = [payer(storage), payer(storage)];
  await first.agent().run("pay", { agentId: "a" });
  const { page_count: pages } = database.prepare("PRAGMA page_count").get() as { readonly page_count: number };
  database.exec(`PRAGMA max_page_count = ${pages}`);
  const text = "x".repeat(9_000);
  await expect(second.agent().run(text, { agentId: "b" })).rejects.toMatchObject({
    code: "storage_failed",
    reason: "full",
  });
  database.exec("PRAGMA max_page_count = 1000000");
  const result = await second.agent().run(text, { agentId: "b" });
  expect([result.status, second.paid]).toEqual(["completed", bills]);
});
