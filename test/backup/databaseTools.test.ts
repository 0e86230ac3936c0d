import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { markRestored } from "agent-persistence/backup";
import { DynamoDBPersistenceStorageProvider } from "agent-persistence/dynamodb";
import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { describe, expect, it, onTestFinished } from "vitest";
import { clientOf } from "../storage/dynamodb/clientOf.ts";
import { dynamoDBEndpoint, newTable } from "../storage/dynamodb/localDynamoDB.ts";
import { testDirectory } from "../storage/file/support/fixture.ts";
import { databaseUrl, newSchema, pool, poolOf } from "../storage/postgres/database.ts";
import { libsql } from "../storage/sqlite/libsql.ts";
import { finish, payer, waitingPayer } from "../transfer/movedAgents.ts";

/** A database that a tool of the database copies while its agents wait. */
interface Copied {
  readonly storage: LogPersistenceStorageProvider;
  /** Copies the database. Returns a function that opens the copy. */
  readonly copy: () => Promise<() => Promise<LogPersistenceStorageProvider>>;
}

const tools: Readonly<Record<string, () => Promise<Copied>>> = {
  "VACUUM INTO of SQLite": async () => {
    const directory = await testDirectory();
    const [file, target] = [join(directory, "agents.db"), join(directory, "copy.db")];
    return {
      storage: new SqlitePersistenceStorageProvider({ database: libsql(file) }),
      copy: async () => {
        libsql(file).exec(`VACUUM INTO '${target}'`);
        return async () => new SqlitePersistenceStorageProvider({ database: libsql(target) });
      },
    };
  },
  "a copy of the file of SQLite": async () => {
    const directory = await testDirectory();
    const [file, target] = [join(directory, "agents.db"), join(directory, "copy.db")];
    return {
      storage: new SqlitePersistenceStorageProvider({ database: libsql(file) }),
      copy: async () => {
        // No other connection may write meanwhile, and the file must contain the write-ahead log.
        const writer = libsql(file);
        writer.exec("PRAGMA wal_checkpoint(TRUNCATE)");
        writer.exec("BEGIN IMMEDIATE");
        await copyFile(file, target);
        writer.exec("ROLLBACK");
        return async () => new SqlitePersistenceStorageProvider({ database: libsql(target) });
      },
    };
  },
  "a copy of a Postgres database": async () => {
    const [server, url] = [await pool(), await databaseUrl()];
    const [name, target] = [newSchema(), newSchema()];
    await server.query(`CREATE DATABASE ${name}`);
    const open = (database: string) => {
      const client = poolOf(String(Object.assign(new URL(url), { pathname: `/${database}` })));
      onTestFinished(async () => {
        await client.end();
        await server.query(`DROP DATABASE IF EXISTS ${database}`);
      });
      return new PostgresPersistenceStorageProvider({ client });
    };
    return {
      storage: open(name),
      copy: async () => {
        // Postgres copies a database that has no connections.
        await server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [name]);
        await server.query(`CREATE DATABASE ${target} TEMPLATE ${name}`);
        return async () => open(target);
      },
    };
  },
  "an export of a DynamoDB table": async () => {
    const client = clientOf(await dynamoDBEndpoint());
    const [tableName, target] = [await newTable(), await newTable()];
    return {
      storage: new DynamoDBPersistenceStorageProvider({ client, tableName }),
      copy: async () => {
        const { Items = [] } = await client.scan({ TableName: tableName, ConsistentRead: true });
        for (const Item of Items) await client.putItem({ TableName: target, Item });
        return async () => new DynamoDBPersistenceStorageProvider({ client, tableName: target });
      },
    };
  },
};

describe.each(Object.entries(tools))("an older state that was restored from %s", (_name, make) => {
  it("runs only after a decision about the calls since the copy", async () => {
    const { storage, copy } = await make();
    const made = await waitingPayer(storage, "a");
    const { paid } = made;
    const restore = await copy();
    expect(await finish(made, "a")).toMatchObject({ status: "completed" });
    expect(paid).toEqual(["ann", "ann"]);

    const restored = await restore();
    expect(await markRestored(restored)).toEqual({ marked: ["a"], failed: [] });
    const there = payer(restored, paid);
    await expect(there.agent.resume({ agentId: "a" })).rejects.toMatchObject({ code: "agent_copied" });
    await expect(there.agent.run("ann", { agentId: "a" })).rejects.toMatchObject({ code: "agent_copied" });
    expect(paid).toHaveLength(2);
    await there.feature.agent("a").takeOver();
    expect(await finish(there, "a")).toMatchObject({ status: "completed" });
    expect(paid).toHaveLength(3);
  });
});
