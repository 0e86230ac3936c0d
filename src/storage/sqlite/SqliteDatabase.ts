/**
 * A connection to an SQLite database, compatible with `node:sqlite`, better-sqlite3 and libsql. The storage uses it
 * exclusively. It throws if the application leaves a transaction open on the connection, because that transaction would
 * include the writes of the storage.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
  /** Whether a transaction is open, in better-sqlite3 and libsql. */
  readonly inTransaction?: boolean;
  /** Whether a transaction is open, in `node:sqlite`. */
  readonly isTransaction?: boolean;
}

/** A prepared statement that returns rows as objects. */
export interface SqliteStatement {
  run(...values: SqliteValue[]): { readonly changes: number | bigint };
  get(...values: SqliteValue[]): unknown;
  all(...values: SqliteValue[]): unknown[];
}

/** A value of a statement. */
export type SqliteValue = string | number | bigint | Uint8Array;
