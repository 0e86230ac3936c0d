import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { storageAt, type StoragePlace } from "../../storage/engines/storageAt.ts";
import { CountedDatabase } from "../verbs/CountedDatabase.ts";

/** The storage at a place. The process can be killed before each of its statements or calls to the file system. */
export async function killableStorageAt(place: StoragePlace): Promise<LogPersistenceStorageProvider> {
  if (place.engine === "sqlite")
    return new SqlitePersistenceStorageProvider({ database: new CountedDatabase(place.file) });
  if (place.engine !== "postgres") return storageAt(place);
  const { poolOf } = await import("../../storage/postgres/database.ts");
  const pool = poolOf(place.url, 1);
  const query = (text: string, values?: (string | number | Uint8Array | null)[]) => {
    globalThis.countCall?.();
    return pool.query<object>(text, values);
  };
  return new PostgresPersistenceStorageProvider({ client: { query }, schema: place.schema });
}
