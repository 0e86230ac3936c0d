import { z } from "zod";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { functionSchema, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import {
  LogPersistenceStorageProvider,
  logProviderShape,
  type LogProviderOptions,
} from "../LogPersistenceStorageProvider.ts";
import { askTable } from "../table/askTable.ts";
import { TableRecordLog, tableRecordLogShape, type TableRecordLogOptions } from "../table/TableRecordLog.ts";
import { PostgresConnection, type PostgresClient, type PostgresListen } from "./PostgresConnection.ts";
import { defaultSchema, schemaName } from "./postgresNames.ts";
import { PostgresTable } from "./PostgresTable.ts";

/** Options of {@link PostgresPersistenceStorageProvider}. */
export interface PostgresProviderOptions extends TableRecordLogOptions, LogProviderOptions {
  /**
   * A `Pool` of `pg` or Neon, PGlite, or a wrapper function for postgres.js. The storage does not close the client.
   * Never pass a client inside a transaction, because appends would be acknowledged before they are durable.
   */
  readonly client: PostgresClient;
  /** The schema of the tables. Defaults to `agent_persistence`. */
  readonly schema?: string | undefined;
  /**
   * Whether the first call creates missing tables and upgrades older ones. With `false`, the first call rejects with
   * `StorageNotReadyError` if the tables are missing or outdated. Defaults to `true`.
   */
  readonly migrate?: boolean | undefined;
  /**
   * Whether to use named prepared statements, so that a connection plans each statement once. Requires a client that
   * accepts `{ name, text, values }`, such as `pg` or Neon, without a pooler in transaction mode. Defaults to `false`.
   */
  readonly preparedStatements?: boolean | undefined;
  /** Wakes workers in this process when a task is ready. By default, workers find the task with their next poll. */
  readonly listen?: PostgresListen | undefined;
}

const optionsSchema = strictOptions(() => ({
  ...tableRecordLogShape,
  ...logProviderShape,
  client: objectWithMethods<PostgresClient>("query"),
  schema: schemaName.optional(),
  migrate: z.boolean().optional(),
  preparedStatements: z.boolean().optional(),
  listen: functionSchema<PostgresListen>().optional(),
}));

/**
 * Stores agents in a Postgres database, for any number of processes and machines. A resolved save is as durable as a
 * commit of the server. Leases use the clock of the server.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 *
 * @example
 * ```ts
 * import { Pool } from "pg";
 *
 * const client = new Pool({ connectionString: process.env.DATABASE_URL });
 * const storage = new PostgresPersistenceStorageProvider({ client });
 * const agent = new AIAgent({ promptExecutor, llmModel }).install(Persistence, { storage });
 * ```
 */
export class PostgresPersistenceStorageProvider extends LogPersistenceStorageProvider {
  readonly #connection: PostgresConnection;
  readonly #table: PostgresTable;

  constructor(options: PostgresProviderOptions) {
    checkSchema(optionsSchema, options, "options of the Postgres storage");
    const { client, schema = defaultSchema, migrate = true, preparedStatements = false, listen, ...rest } = options;
    const { inlineThresholdBytes, compressThresholdBytes, sha256, ...log } = rest;
    const connection = new PostgresConnection({ client, schema, migrate, preparedStatements });
    const table = new PostgresTable(connection, listen);
    super(new TableRecordLog(table, { ...log, sha256 }), { inlineThresholdBytes, compressThresholdBytes, sha256 });
    this.#connection = connection;
    this.#table = table;
  }

  /**
   * Creates or upgrades the tables, regardless of the option `migrate`. Safe for any number of concurrent processes.
   * The role must be allowed to create tables in the schema, and to create the schema if it is missing.
   *
   * @throws StorageError if the server rejects the migration.
   */
  migrate(): Promise<void> {
    return askTable(this.#table, "migration", undefined, () => this.#connection.migrate());
  }
}
