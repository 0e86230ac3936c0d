import { checkSchema } from "../../internal/options/checkSchema.ts";
import { objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import {
  LogPersistenceStorageProvider,
  logProviderShape,
  type LogProviderOptions,
} from "../LogPersistenceStorageProvider.ts";
import { TableRecordLog, tableRecordLogShape, type TableRecordLogOptions } from "../table/TableRecordLog.ts";
import type { SqliteDatabase } from "./SqliteDatabase.ts";
import { SqliteTable } from "./SqliteTable.ts";

/** The database, how long owners may be silent, and how values are stored. */
export interface SqliteProviderOptions extends TableRecordLogOptions, LogProviderOptions {
  /**
   * An open connection of `node:sqlite` (Node 22.13 or newer), better-sqlite3 or libsql, for this storage alone. It is not
   * closed. Several processes may open the same file. A database in memory lasts as long as its connection.
   */
  readonly database: SqliteDatabase;
}

const optionsSchema = strictOptions({
  ...tableRecordLogShape,
  ...logProviderShape,
  database: objectWithMethods<SqliteDatabase>("exec", "prepare"),
});

/**
 * Stores agents in an SQLite database, in tables whose names begin with `agent_persistence`. A save that resolved survives
 * a crash and a loss of power. Several processes of one machine may use the file at once. The first call sets the
 * connection to `synchronous = FULL` and the file to write-ahead logging, and makes the tables.
 *
 * @throws InvalidInputError when an option is unknown or has a wrong value.
 */
export class SqlitePersistenceStorageProvider extends LogPersistenceStorageProvider {
  constructor(options: SqliteProviderOptions) {
    checkSchema(optionsSchema, options, "options of the SQLite storage");
    const { database, inlineThresholdBytes, compressThresholdBytes, sha256, ...log } = options;
    const table = new SqliteTable(database);
    super(new TableRecordLog(table, { ...log, sha256 }), { inlineThresholdBytes, compressThresholdBytes, sha256 });
  }
}
