import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { StorageError } from "../../errors/storageErrors.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { SqliteConnection, sqliteFailure, type SqliteDatabase } from "../../storage/sqlite/SqliteConnection.ts";
import {
  type StreamEntry,
  lastNumber,
  type StreamPlace,
  type StreamRow,
  type StreamStore,
  visibleRows,
} from "./StreamStore.ts";

/** Options of {@link SqliteStreamStore}. */
export interface SqliteStreamStoreOptions {
  /**
   * An open connection of `node:sqlite`, better-sqlite3 or libsql, such as the connection of
   * `SqlitePersistenceStorageProvider`. The store does not close the connection.
   */
  readonly database: SqliteDatabase;
}

const optionsSchema = strictOptions(() => ({ database: objectWithMethods<SqliteDatabase>("exec", "prepare") }));

const table = "agent_persistence_streams";
const schema = `CREATE TABLE IF NOT EXISTS ${table} (
  id TEXT NOT NULL,
  writer INTEGER NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  chunks TEXT NOT NULL,
  PRIMARY KEY (id, writer, first)
) WITHOUT ROWID`;

/**
 * Stores streams in the table `agent_persistence_streams` of an SQLite database, for several processes on one machine.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 */
export class SqliteStreamStore implements StreamStore {
  readonly #connection: SqliteConnection;
  #isReady = false;

  constructor(options: SqliteStreamStoreOptions) {
    checkSchema(optionsSchema, options, "options of the SQLite stream store");
    this.#connection = new SqliteConnection(options.database);
  }

  async append(streamId: string, entry: StreamEntry): Promise<void> {
    const { writer, first, chunks } = entry;
    const sql = `INSERT OR IGNORE INTO ${table} (id, writer, first, last, chunks) VALUES (?, ?, ?, ?, ?)`;
    const values = [JSON.stringify(streamId), writer, first, lastNumber(entry), JSON.stringify(chunks)];
    this.#call("append", () => this.#connection.run(sql, ...values));
  }

  async read(streamId: string, after: StreamPlace = { writer: 0, number: 0 }): Promise<readonly StreamEntry[]> {
    const id = JSON.stringify(streamId);
    const sql = `SELECT writer, first, chunks FROM ${table}
      WHERE id = ? AND writer = (SELECT max(writer) FROM ${table} WHERE id = ?) AND (writer > ? OR last > ?)`;
    const rows = this.#call("read", () => this.#connection.all<StreamRow>(sql, id, id, after.writer, after.number));
    return visibleRows(rows, after);
  }

  async remove(streamId: string, upTo?: StreamPlace): Promise<void> {
    const id = JSON.stringify(streamId);
    const all = `DELETE FROM ${table} WHERE id = ?`;
    const values = upTo ? [upTo.writer, upTo.writer, upTo.number] : [];
    const sql = upTo ? `${all} AND (writer < ? OR (writer = ? AND last <= ?))` : all;
    this.#call("remove", () => this.#connection.run(sql, id, ...values));
  }

  #call<Result>(operation: string, call: () => Result): Result {
    try {
      this.#connection.prepare();
      if (!this.#isReady) this.#connection.run(schema);
      this.#isReady = true;
      this.#connection.assertOwn();
      return call();
    } catch (error) {
      if (error instanceof AgentPersistenceError) throw error;
      throw new StorageError(sqliteFailure(error), operation, "the streams in SQLite", { cause: error });
    }
  }
}
