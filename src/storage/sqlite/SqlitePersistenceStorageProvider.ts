import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { objectWithMethods } from "../../internal/options/optionSchemas.ts";
import {
  LogPersistenceStorageProvider,
  logProviderShape,
  type LogProviderOptions,
} from "../LogPersistenceStorageProvider.ts";
import { TableRecordLog, tableRecordLogShape, type TableRecordLogOptions } from "../table/TableRecordLog.ts";
import type { SqliteDatabase } from "./SqliteConnection.ts";
import { SqliteTable } from "./SqliteTable.ts";

/** Options of {@link SqlitePersistenceStorageProvider}. */
export interface SqliteProviderOptions extends TableRecordLogOptions, LogProviderOptions {
  /**
   * An open connection of `node:sqlite` (Node 22.13 or newer), better-sqlite3 or libsql, used only by this storage. The
   * storage does not close the connection. Several processes may open the same file. A database in memory is lost when
   * its connection closes.
   */
  readonly database: SqliteDatabase;
}

const optionsSchema = strictOptions(() => ({
  ...tableRecordLogShape,
  ...logProviderShape,
  database: objectWithMethods<SqliteDatabase>("exec", "prepare"),
}));

/**
 * Stores agents in an SQLite database, in tables with the prefix `agent_persistence`. A resolved save survives crashes
 * and power loss. Several processes on one machine may share the file. The first call sets `synchronous = FULL` and
 * write-ahead logging, and creates the tables.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 *
 * @example
 * ```ts
 * import { DatabaseSync } from "node:sqlite";
 *
 * const storage = new SqlitePersistenceStorageProvider({ database: new DatabaseSync("agents.db") });
 * const agent = new AIAgent({ promptExecutor, llmModel }).install(Persistence, { storage });
 * ```
 */
export class SqlitePersistenceStorageProvider extends LogPersistenceStorageProvider {
  constructor(options: SqliteProviderOptions) {
    checkSchema(optionsSchema, options, "options of the SQLite storage");
    const { database, inlineThresholdBytes, compressThresholdBytes, sha256, ...log } = options;
    const table = new SqliteTable(database);
    super(new TableRecordLog(table, { ...log, sha256 }), { inlineThresholdBytes, compressThresholdBytes, sha256 });
  }
}
