import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";

/** The storages that an example can run on. */
export const storageNames = ["file", "sqlite", "postgres"] as const;
export type StorageName = (typeof storageNames)[number];

/** Whether there is such a storage. */
export function isStorageName(name: string): name is StorageName {
  return (storageNames as readonly string[]).includes(name);
}

/**
 * The storage of an example, the same for all its processes. Files and SQLite are in the folder. Postgres is where
 * `DATABASE_URL` says, in a schema named after the folder.
 */
export async function openStorage(name: StorageName, directory: string): Promise<LogPersistenceStorageProvider> {
  const folder = join(directory, "agent");
  switch (name) {
    case "file":
      return new FilePersistenceStorageProvider({ directory: folder });
    case "sqlite": {
      const { default: Database } = await import("libsql");
      mkdirSync(folder, { recursive: true });
      return new SqlitePersistenceStorageProvider({ database: new Database(join(folder, "agents.db")) });
    }
    case "postgres": {
      const { default: pg } = await import("pg");
      const client = new pg.Pool({ connectionString: process.env["DATABASE_URL"], max: 3, allowExitOnIdle: true });
      // Without a listener, a connection that breaks would end the process.
      client.on("error", (error) => console.error(`Postgres: ${error.message}`));
      const schema = `example_${basename(directory).toLowerCase().replaceAll(/\W/g, "_")}`;
      return new PostgresPersistenceStorageProvider({ client, schema });
    }
  }
}
