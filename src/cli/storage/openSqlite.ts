import type { SqliteDatabase } from "../../sqlite.ts";
import { SqlitePersistenceStorageProvider } from "../../sqlite.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import { loadFrom } from "./loadDriver.ts";
import { assertFile } from "./commandFiles.ts";
import { commandRetryMs, type OpenedStorage, type OpenOptions } from "./OpenedStorage.ts";
import type { StorageAddress } from "./storageAddress.ts";

interface Connection extends SqliteDatabase {
  close(): void;
}

type Open = (file: string, readOnly: boolean) => Connection;
type Constructor = new (file: string, options: object) => Connection;

/** Opens an SQLite file with `node:sqlite`, or else with a driver of the user's project. @throws CommandFailure */
export async function openSqlite(
  { file }: Extract<StorageAddress, { kind: "sqlite" }>,
  { cwd, purpose }: OpenOptions,
): Promise<OpenedStorage> {
  if (purpose !== "make") await assertFile(file);
  const open = await driver(cwd);
  const database = open(file, purpose === "read");
  if (purpose !== "make") assertTables(database, file);
  const storage = new SqlitePersistenceStorageProvider({ database, retryMs: commandRetryMs });
  const close = async (): Promise<void> => {
    await storage.log.close();
    database.close();
  };
  return { storage, name: `sqlite:${file}`, close };
}

async function driver(cwd: string): Promise<Open> {
  const own = process.getBuiltinModule?.("node:sqlite") as unknown as { DatabaseSync: Constructor } | undefined;
  if (own) return (file, readOnly) => new own.DatabaseSync(file, { readOnly });
  for (const name of ["better-sqlite3", "libsql"]) {
    const found = (await loadFrom(cwd, name)) as { default: Constructor } | undefined;
    if (found) return (file, readonly) => new found.default(file, { readonly });
  }
  throw new CommandFailure(
    "failed",
    "To open an SQLite storage, use Node 22.13 or newer, or install a driver: npm install better-sqlite3",
  );
}

/** Prevents creating tables in a foreign database. */
function assertTables(database: Connection, file: string): void {
  const sql = "SELECT count(*) AS found FROM sqlite_master WHERE type = 'table' AND name = 'agent_persistence'";
  const { found } = database.prepare(sql).all()[0] as { readonly found: number };
  if (found > 0) return;
  database.close();
  throw new CommandFailure("notFound", `The database ${file} has no agents.`);
}
