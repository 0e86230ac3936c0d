import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { DynamoDBPersistenceStorageProvider, dynamoDBTable } from "agent-persistence/dynamodb";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";

/** The storages that an example can run on. */
export const storageNames = ["file", "sqlite", "postgres", "dynamodb"] as const;
export type StorageName = (typeof storageNames)[number];

/** An hour: an example that waited for the lease of a killed process would not end. On one machine, none waits. */
const leaseMs = 3_600_000;

/** Whether there is such a storage. */
export function isStorageName(name: string): name is StorageName {
  return (storageNames as readonly string[]).includes(name);
}

/**
 * The storages for which something is there: those in a folder always, and the others if the environment says where they
 * are.
 */
export const availableStorages: readonly StorageName[] = [
  "file",
  "sqlite",
  ...(process.env["DATABASE_URL"] === undefined ? [] : (["postgres"] as const)),
  ...(process.env["DYNAMODB_ENDPOINT"] === undefined ? [] : (["dynamodb"] as const)),
];

/**
 * The storage of an example, the same for all its processes. Files and SQLite are in the folder. Postgres is where
 * `DATABASE_URL` says, in a schema named after the folder. DynamoDB is that of your AWS account, or the server at
 * `DYNAMODB_ENDPOINT`, with a table named after the folder.
 */
export async function openStorage(name: StorageName, directory: string): Promise<LogPersistenceStorageProvider> {
  const folder = join(directory, "agent");
  switch (name) {
    case "file":
      return new FilePersistenceStorageProvider({ directory: folder, leaseMs });
    case "sqlite": {
      const { default: Database } = await import("libsql");
      mkdirSync(folder, { recursive: true });
      return new SqlitePersistenceStorageProvider({ database: new Database(join(folder, "agents.db")), leaseMs });
    }
    case "postgres": {
      const { default: pg } = await import("pg");
      const client = new pg.Pool({ connectionString: process.env["DATABASE_URL"], max: 3, allowExitOnIdle: true });
      // Without a listener, a connection that breaks would end the process.
      client.on("error", (error) => console.error(`Postgres: ${error.message}`));
      return new PostgresPersistenceStorageProvider({ client, schema: nameOf(directory), leaseMs });
    }
    case "dynamodb": {
      const { DynamoDB, waitUntilTableExists } = await import("@aws-sdk/client-dynamodb");
      const endpoint = process.env["DYNAMODB_ENDPOINT"];
      const credentials = { accessKeyId: "local", secretAccessKey: "local" };
      const client = new DynamoDB(endpoint === undefined ? {} : { endpoint, region: "us-east-1", credentials });
      const tableName = nameOf(directory);
      // Another process may have made it.
      await client.createTable(dynamoDBTable({ tableName })).catch((error: Error) => {
        if (error.name !== "ResourceInUseException") throw error;
      });
      await waitUntilTableExists({ client, maxWaitTime: 120 }, { TableName: tableName });
      return new DynamoDBPersistenceStorageProvider({ client, tableName, leaseMs });
    }
  }
}

/** What a schema or a table is called: the folder is new for each run. */
function nameOf(directory: string): string {
  return `example_${basename(directory).toLowerCase().replaceAll(/\W/g, "_")}`;
}
