import { join } from "node:path";
import { DynamoDBPersistenceStorageProvider } from "../../src/dynamodb.ts";
import { FilePersistenceStorageProvider } from "../../src/file.ts";
import { InMemoryPersistenceStorageProvider } from "../../src/index.ts";
import { PostgresPersistenceStorageProvider } from "../../src/postgres.ts";
import { SqlitePersistenceStorageProvider } from "../../src/sqlite.ts";
import type { LogPersistenceStorageProvider } from "../../src/storage.ts";
import { collect, testDirectory } from "../storage/file/support/fixture.ts";
import { localDynamoDB, newTable } from "../storage/dynamodb/localDynamoDB.ts";
import { newSchema, pool } from "../storage/postgres/database.ts";
import { libsql } from "../storage/sqlite/libsql.ts";

/** Makes the storages of two tenants whose places have the most similar names that one server or directory allows. */
export const tenantPairs: Readonly<Record<string, () => Promise<readonly LogPersistenceStorageProvider[]>>> = {
  "in memory": async () => [new InMemoryPersistenceStorageProvider(), new InMemoryPersistenceStorageProvider()],
  "in files": async () => {
    const directory = await testDirectory();
    return ["acme", "acme-2"].map((name) => new FilePersistenceStorageProvider({ directory: join(directory, name) }));
  },
  "in SQLite": async () => {
    const directory = await testDirectory();
    return ["acme", "acme-2"].map(
      (name) => new SqlitePersistenceStorageProvider({ database: libsql(join(directory, name)) }),
    );
  },
  "in Postgres": async () => {
    const [client, schema] = [await pool(), newSchema()];
    // Both schemas notify on the same channel.
    return [`${schema}_a`, `${schema}-a`].map(
      (name) => new PostgresPersistenceStorageProvider({ client, schema: name }),
    );
  },
  "in DynamoDB": async () => {
    const client = await localDynamoDB();
    const tables = [await newTable(), await newTable()];
    return tables.map((tableName) => new DynamoDBPersistenceStorageProvider({ client, tableName }));
  },
};

/** Returns all that a storage lists and stores, as text. */
export async function contentOf({ log }: LogPersistenceStorageProvider): Promise<string> {
  const summaries = await collect(log.list());
  const entries = await Promise.all(summaries.map(async ({ agentId }) => collect(log.read(agentId))));
  const owners = await Promise.all(summaries.map(async ({ agentId }) => log.owner(agentId)));
  return JSON.stringify([summaries, entries, owners]);
}
