/**
 * A connection to an SQLite database, as `node:sqlite`, better-sqlite3 and libsql have it. It belongs to the storage: a
 * transaction that you leave open on it would take the storage's writes with it, and is refused.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
  /** Whether a transaction is open, as better-sqlite3 and libsql say it. */
  readonly inTransaction?: boolean;
  /** Whether a transaction is open, as `node:sqlite` says it. */
  readonly isTransaction?: boolean;
}

/** A prepared statement. Columns are read by their names. */
export interface SqliteStatement {
  run(...values: SqliteValue[]): { readonly changes: number | bigint };
  get(...values: SqliteValue[]): unknown;
  all(...values: SqliteValue[]): unknown[];
}

/** What a statement is given. */
export type SqliteValue = string | number | bigint | Uint8Array;
