import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { functionSchema, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import {
  LogPersistenceStorageProvider,
  logProviderShape,
  type LogProviderOptions,
} from "../LogPersistenceStorageProvider.ts";
import { askTable } from "../table/askTable.ts";
import { TableRecordLog, tableRecordLogShape, type TableRecordLogOptions } from "../table/TableRecordLog.ts";
import type { PostgresClient, PostgresListen } from "./PostgresClient.ts";
import { PostgresConnection } from "./PostgresConnection.ts";
import { defaultSchema, schemaName } from "./postgresNames.ts";
import { PostgresTable } from "./PostgresTable.ts";

/** The client, where the tables are, how long owners may be silent, and how values are stored. */
export interface PostgresProviderOptions extends TableRecordLogOptions, LogProviderOptions {
  /**
   * A `Pool` of `pg` or of Neon, PGlite, or a function around postgres.js. It is not closed, and never in a transaction of
   * yours: an append would be acknowledged before it is durable.
   */
  readonly client: PostgresClient;
  /** The schema of the tables. Default `agent_persistence`. */
  readonly schema?: string | undefined;
  /**
   * Makes the tables with the first call, and brings older ones to the newest version. False: the first call rejects with
   * `StorageNotReadyError` if they are missing or older. Default true.
   */
  readonly migrate?: boolean | undefined;
  /**
   * Gives statements names, so that a connection plans each once. For clients that take `{ name, text, values }`, as `pg`
   * and Neon do, without a pooler in transaction mode. Default false.
   */
  readonly preparedStatements?: boolean | undefined;
  /** Wakes workers of this process when a task can be begun. Absent: they find it with their next poll. */
  readonly listen?: PostgresListen | undefined;
}

const optionsSchema = strictOptions({
  ...tableRecordLogShape,
  ...logProviderShape,
  client: objectWithMethods<PostgresClient>("query"),
  schema: schemaName.optional(),
  migrate: z.boolean().optional(),
  preparedStatements: z.boolean().optional(),
  listen: functionSchema<PostgresListen>().optional(),
});

/**
 * Stores agents in a Postgres database, for any number of processes and machines. A save that resolved survives what a
 * commit of the server survives. Leases are judged by the clock of the server.
 *
 * @throws InvalidInputError when an option is unknown or has a wrong value.
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
   * Makes the tables, or brings them to the newest version, also where the option `migrate` is false. Any number of
   * processes may do so at once. The role needs the right to create tables in the schema; the right to create schemas only
   * where it is missing.
   *
   * @throws StorageError when the server refuses.
   */
  migrate(): Promise<void> {
    return askTable(this.#table, "migration", undefined, () => this.#connection.migrate());
  }
}
