import { DynamoDBPersistenceStorageProvider } from "agent-persistence/dynamodb";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";

/** Where a storage is that several processes use, as one tells it to another. */
export type StoragePlace =
  | { readonly engine: "file"; readonly directory: string }
  | { readonly engine: "sqlite"; readonly file: string }
  | { readonly engine: "postgres"; readonly url: string; readonly schema: string }
  | { readonly engine: "dynamodb"; readonly endpoint: string; readonly tableName: string };

/** The storage at a place. What only one engine needs is imported when that engine is asked for. */
export async function storageAt(
  place: StoragePlace,
  options: { readonly leaseMs?: number | undefined } = {},
): Promise<LogPersistenceStorageProvider> {
  switch (place.engine) {
    case "file":
      return new FilePersistenceStorageProvider({ directory: place.directory, ...options });
    case "sqlite": {
      const { libsql } = await import("../sqlite/libsql.ts");
      return new SqlitePersistenceStorageProvider({ database: libsql(place.file), ...options });
    }
    case "postgres": {
      const { poolOf } = await import("../postgres/database.ts");
      return new PostgresPersistenceStorageProvider({ client: poolOf(place.url, 2), schema: place.schema, ...options });
    }
    case "dynamodb": {
      const { clientOf } = await import("../dynamodb/clientOf.ts");
      const { endpoint, tableName } = place;
      return new DynamoDBPersistenceStorageProvider({ client: clientOf(endpoint), tableName, ...options });
    }
  }
}
