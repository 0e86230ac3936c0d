// Compiled, never run: connections are taken as their packages have them. Types of node:sqlite come with a newer Node, and
// better-sqlite3 compiles for minutes, so both stand here as they declare themselves.
import { FileRecordLog } from "agent-persistence/file";
import { type SqliteDatabase, SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import Libsql from "libsql";

type NodeValue = string | number | bigint | null | Uint8Array;

interface StatementSync {
  run(...values: NodeValue[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  get(...values: NodeValue[]): Record<string, unknown> | undefined;
  all(...values: NodeValue[]): Record<string, unknown>[];
}

declare class DatabaseSync {
  constructor(path: string);
  readonly isTransaction: boolean;
  exec(sql: string): void;
  prepare(sql: string): StatementSync;
}

interface BetterStatement<Values extends unknown[]> {
  run(...values: Values): { changes: number; lastInsertRowid: number | bigint };
  get(...values: Values): unknown;
  all(...values: Values): unknown[];
}

declare class BetterSqlite3 {
  constructor(path: string);
  readonly inTransaction: boolean;
  exec(sql: string): this;
  prepare(sql: string): BetterStatement<unknown[]> | BetterStatement<[{}]>;
}

new SqlitePersistenceStorageProvider({ database: new DatabaseSync("agents.db") });
new SqlitePersistenceStorageProvider({ database: new BetterSqlite3("agents.db"), leaseMs: 30_000 });
new SqlitePersistenceStorageProvider({ database: new Libsql("agents.db"), blobs: new FileRecordLog().blobs });
const database: SqliteDatabase = new DatabaseSync(":memory:");
new SqlitePersistenceStorageProvider({ database });
// @ts-expect-error a path is no database: which driver reads it is the user's choice
new SqlitePersistenceStorageProvider({ database: "agents.db" });
