// Compiled, never run: connections are taken as their packages have them. Types of node:sqlite come with those of a newer
// Node, so they stand here as it declares them. Of better-sqlite3, which compiles for minutes, only the types are installed.
import { FileRecordLog } from "agent-persistence/file";
import { type SqliteDatabase, SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import type BetterSqlite3 from "better-sqlite3";
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

declare const better: BetterSqlite3.Database;

new SqlitePersistenceStorageProvider({ database: new DatabaseSync("agents.db") });
new SqlitePersistenceStorageProvider({ database: better, leaseMs: 30_000 });
new SqlitePersistenceStorageProvider({ database: new Libsql("agents.db"), blobs: new FileRecordLog().blobs });
const database: SqliteDatabase = new DatabaseSync(":memory:");
new SqlitePersistenceStorageProvider({ database });
// @ts-expect-error a path is no database: which driver reads it is the user's choice
new SqlitePersistenceStorageProvider({ database: "agents.db" });
