import { join } from "node:path";
import { FileStreamStore, PostgresStreamStore, SqliteStreamStore, type StreamStore } from "agent-persistence/streams";
import type { StoragePlace } from "../../storage/engines/storageAt.ts";

/** The stream store beside a storage. */
export async function streamsAt(place: StoragePlace): Promise<StreamStore> {
  switch (place.engine) {
    case "file":
      return new FileStreamStore({ directory: join(place.directory, "streams") });
    case "sqlite": {
      const { libsql } = await import("../../storage/sqlite/libsql.ts");
      return new SqliteStreamStore({ database: libsql(place.file) });
    }
    case "postgres": {
      const { poolOf } = await import("../../storage/postgres/database.ts");
      return new PostgresStreamStore({ client: poolOf(place.url, 2), schema: place.schema });
    }
    case "dynamodb":
      throw new TypeError("There is no stream store in DynamoDB.");
  }
}
