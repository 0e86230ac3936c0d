import type { DynamoDBClient } from "../../dynamodb.ts";
import { readOnlyFileSystem } from "../../nodejs/FileSystem.ts";
import type { PostgresClient } from "../../postgres.ts";
import type { SqliteDatabase } from "../../sqlite.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import { assertFile, assertFolder } from "./commandFiles.ts";
import { type StorageAddress, storageName } from "./storageAddress.ts";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { LogPersistenceStorageProvider } from "../../storage/LogPersistenceStorageProvider.ts";

/** The retry time for database calls in milliseconds, short because a person waits. */
const commandRetryMs = 2_000;

export interface OpenedStorage {
  readonly storage: LogPersistenceStorageProvider;
  /** The storage below the encryption. Omitted if the storage is not encrypted. */
  readonly stored?: LogPersistenceStorageProvider;
  /** The display name without passwords. */
  readonly name: string;
  close(): Promise<void>;
}

export interface OpenOptions {
  /** The base directory for resolving drivers. */
  readonly cwd: string;
  /** `read` changes no data, `write` changes existing agents, and `make` creates the storage if necessary. */
  readonly purpose: "read" | "write" | "make";
}

/** Opens the storage at an address, with database clients of the user's project. @throws CommandFailure */
export async function openStorage(address: StorageAddress, options: OpenOptions): Promise<OpenedStorage> {
  const { storage, end } = await opened(address, options);
  const close = async (): Promise<void> => {
    await storage.log.close();
    await end?.();
  };
  return { storage, name: storageName(address), close };
}

interface Opened {
  readonly storage: LogPersistenceStorageProvider;
  /** Closes the database client. Omitted without a client. */
  readonly end?: () => unknown;
}

async function opened(address: StorageAddress, options: OpenOptions): Promise<Opened> {
  if (address.kind === "file") return openFiles(address, options);
  if (address.kind === "sqlite") return openSqlite(address, options);
  if (address.kind === "postgres") return openPostgres(address, options);
  return openDynamodb(address, options);
}

async function openFiles(
  { folder }: Extract<StorageAddress, { kind: "file" }>,
  { purpose }: OpenOptions,
): Promise<Opened> {
  if (purpose !== "make") await assertFolder(folder);
  const { FilePersistenceStorageProvider, nodeFileSystem } = await import("../../file.ts");
  const fileSystem = purpose === "read" ? readOnlyFileSystem(nodeFileSystem) : nodeFileSystem;
  return { storage: new FilePersistenceStorageProvider({ directory: folder, fileSystem }) };
}

interface SqliteConnection extends SqliteDatabase {
  close(): void;
}

type OpenSqlite = (file: string, readOnly: boolean) => SqliteConnection;
type SqliteConstructor = new (file: string, options: object) => SqliteConnection;

/**
 * Opens an SQLite file with `node:sqlite` or, if Node lacks it, a driver of the user's project.
 *
 * @throws CommandFailure
 */
async function openSqlite(
  { file }: Extract<StorageAddress, { kind: "sqlite" }>,
  { cwd, purpose }: OpenOptions,
): Promise<Opened> {
  if (purpose !== "make") await assertFile(file);
  const open = await sqliteDriver(cwd);
  const database = openedOr(file, () => open(file, purpose === "read"));
  if (purpose !== "make") openedOr(file, () => assertTables(database, file));
  const { SqlitePersistenceStorageProvider } = await import("../../sqlite.ts");
  const storage = new SqlitePersistenceStorageProvider({ database, retryMs: commandRetryMs });
  return { storage, end: () => database.close() };
}

/** Names the file in an error of the driver. */
function openedOr<Result>(file: string, open: () => Result): Result {
  try {
    return open();
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    const { message } = error as Error;
    throw new CommandFailure("failed", `The database ${file} cannot be opened: ${message}`, { cause: error });
  }
}

async function sqliteDriver(cwd: string): Promise<OpenSqlite> {
  const own = process.getBuiltinModule?.("node:sqlite") as unknown as { DatabaseSync: SqliteConstructor } | undefined;
  if (own) return (file, readOnly) => new own.DatabaseSync(file, { readOnly });
  for (const name of ["better-sqlite3", "libsql"]) {
    const found = (await loadFrom(cwd, name)) as { default: SqliteConstructor } | undefined;
    if (found) return (file, readonly) => new found.default(file, { readonly });
  }
  throw new CommandFailure(
    "failed",
    "To open an SQLite storage, use Node 22.13 or newer, or install a driver: npm install better-sqlite3",
  );
}

/** Prevents creating tables in a foreign database. */
function assertTables(database: SqliteConnection, file: string): void {
  const sql = "SELECT count(*) AS found FROM sqlite_master WHERE type = 'table' AND name = 'agent_persistence'";
  const { found } = database.prepare(sql).all()[0] as { readonly found: number };
  if (found > 0) return;
  database.close();
  throw new CommandFailure("notFound", `The database ${file} has no agents.`);
}

interface Pool extends PostgresClient {
  on(event: "error", listener: () => void): unknown;
  end(): Promise<void>;
}

interface PostgresDriver {
  readonly default: { readonly Pool: new (options: object) => Pool };
}

/** Opens a Postgres database with `pg` of the user's project. Creates missing tables only for the purpose `make`. */
async function openPostgres(
  { connection, schema }: Extract<StorageAddress, { kind: "postgres" }>,
  { cwd, purpose }: OpenOptions,
): Promise<Opened> {
  const { default: pg } = await loadDriver<PostgresDriver>(cwd, "pg", "Postgres");
  const client = new pg.Pool({ connectionString: connection, max: 3, connectionTimeoutMillis: 10_000 });
  // Ignored, because a broken connection fails the next statement.
  client.on("error", () => {});
  const migrate = purpose === "make";
  const options = { client, migrate, retryMs: commandRetryMs, ...(schema !== undefined && { schema }) };
  const { PostgresPersistenceStorageProvider } = await import("../../postgres.ts");
  const storage = new PostgresPersistenceStorageProvider(options);
  return { storage, end: () => client.end() };
}

interface DynamodbDriver {
  readonly DynamoDB: new (options: object) => DynamoDBClient & { destroy(): void };
}

/** Opens a DynamoDB table with the AWS SDK of the user's project and its default credentials. */
async function openDynamodb(
  { table, region, endpoint }: Extract<StorageAddress, { kind: "dynamodb" }>,
  { cwd }: OpenOptions,
): Promise<Opened> {
  const { DynamoDB } = await loadDriver<DynamodbDriver>(cwd, "@aws-sdk/client-dynamodb", "DynamoDB");
  const client = new DynamoDB({ ...(region !== undefined && { region }), ...(endpoint !== undefined && { endpoint }) });
  const { DynamoDBPersistenceStorageProvider } = await import("../../dynamodb.ts");
  const storage = new DynamoDBPersistenceStorageProvider({ client, tableName: table, retryMs: commandRetryMs });
  return { storage, end: () => client.destroy() };
}

/** Loads a module from a directory or else from this package. `undefined` if both lack it. */
export async function loadFrom(folder: string, name: string): Promise<unknown> {
  for (const from of [pathToFileURL(join(folder, "project.js")), import.meta.url]) {
    const path = resolveFrom(from, name);
    if (path !== undefined) return import(pathToFileURL(path).href);
  }
  return undefined;
}

function resolveFrom(from: string | URL, name: string): string | undefined {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return undefined;
  }
}

/** Loads a database driver from the user's project. @throws CommandFailure if the project lacks the driver */
async function loadDriver<Driver>(folder: string, name: string, storage: string): Promise<Driver> {
  const found = await loadFrom(folder, name);
  if (found === undefined)
    throw new CommandFailure("failed", `To open a ${storage} storage, install its driver: npm install ${name}`);
  return found as Driver;
}
