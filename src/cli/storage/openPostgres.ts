import { type PostgresClient, PostgresPersistenceStorageProvider } from "../../postgres.ts";
import { loadDriver } from "./loadDriver.ts";
import { commandRetryMs, type OpenedStorage, type OpenOptions } from "./OpenedStorage.ts";
import type { StorageAddress } from "./storageAddress.ts";

interface Pool extends PostgresClient {
  on(event: "error", listener: () => void): unknown;
  end(): Promise<void>;
}

interface Driver {
  readonly default: { readonly Pool: new (options: object) => Pool };
}

/** Opens a Postgres database with `pg` of the user's project. Creates its tables only for `make`. */
export async function openPostgres(
  { connection, schema }: Extract<StorageAddress, { kind: "postgres" }>,
  { cwd, purpose }: OpenOptions,
): Promise<OpenedStorage> {
  const { default: pg } = await loadDriver<Driver>(cwd, "pg", "Postgres");
  const client = new pg.Pool({ connectionString: connection, max: 3, connectionTimeoutMillis: 10_000 });
  // Ignored, because a broken connection fails the next statement.
  client.on("error", () => {});
  const migrate = purpose === "make";
  const options = { client, migrate, retryMs: commandRetryMs, ...(schema !== undefined && { schema }) };
  const storage = new PostgresPersistenceStorageProvider(options);
  const { host, pathname } = new URL(connection);
  const close = async (): Promise<void> => {
    await storage.log.close();
    await client.end();
  };
  return { storage, name: `postgres://${host}${pathname}`, close };
}
