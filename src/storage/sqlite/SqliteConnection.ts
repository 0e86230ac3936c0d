import { UnsupportedFormatError } from "../../errors/storedDataErrors.ts";
import type { StorageFailure } from "../../errors/storageErrors.ts";
import type { SqliteDatabase, SqliteStatement, SqliteValue } from "./SqliteDatabase.ts";
import { sqliteSchema, sqliteVersion } from "./sqliteSchema.ts";

/** The milliseconds that a statement waits for a lock, unless the user configured another time. */
const busyTimeoutMs = 5_000;
/** Takes a third less space than pages of 4 KB, for rows of about 2 KB. */
const pageSize = 8_192;

/** A connection with prepared statements and transactions. Prepares the database on first use. */
export class SqliteConnection {
  readonly #database: SqliteDatabase;
  readonly #statements = new Map<string, SqliteStatement>();
  #isReady = false;
  #inMemory: boolean | undefined;

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  /** Whether the database is lost when the connection closes. */
  get isInMemory(): boolean {
    this.#inMemory ??= this.#pragma("database_list", ({ name }) => name === "main").file === "";
    return this.#inMemory;
  }

  run(sql: string, ...values: SqliteValue[]): number {
    return Number(this.#statement(sql).run(...values).changes);
  }

  /** Returns the first row. The driver's `get` may leave a write uncommitted and does not report a failed commit. */
  get<Row>(sql: string, ...values: SqliteValue[]): Row | undefined {
    return this.all<Row>(sql, ...values)[0];
  }

  all<Row>(sql: string, ...values: SqliteValue[]): Row[] {
    return this.#statement(sql).all(...values) as Row[];
  }

  transaction<Result>(action: () => Result): Result {
    this.assertOwn();
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      const result = action();
      this.#database.exec("COMMIT");
      return result;
    } catch (error) {
      this.#rollback();
      throw error;
    }
  }

  /** Throws inside a foreign transaction, because writes would not be durable after their statement. */
  assertOwn(): void {
    if (this.#isInTransaction())
      throw new Error("a transaction is open on this connection, so open a separate connection for the storage");
  }

  prepare(): void {
    if (this.#isReady) return;
    this.assertOwn();
    if (Object.values(this.#pragma("busy_timeout"))[0] === 0) this.#pragma(`busy_timeout = ${busyTimeoutMs}`);
    if (this.#pragma("page_count")["page_count"] === 0) this.#database.exec(`PRAGMA page_size = ${pageSize}`);
    // Reads the mode first, because only setting it waits for a lock.
    if (this.#pragma("journal_mode")["journal_mode"] !== "wal") this.#pragma("journal_mode = WAL");
    // In WAL mode, some builds default to a lower level, with which a commit would not survive power loss.
    this.#database.exec("PRAGMA synchronous = FULL");
    if (!this.#hasTables()) this.transaction(() => this.#database.exec(sqliteSchema));
    const { version } = this.get<{ version: number }>("SELECT version FROM agent_persistence") ?? { version: 0 };
    if (version > sqliteVersion) throw new UnsupportedFormatError("The SQLite database", version, sqliteVersion);
    this.#isReady = true;
  }

  #hasTables(): boolean {
    const sql = "SELECT count(*) AS found FROM sqlite_master WHERE type = 'table' AND name = 'agent_persistence'";
    return (this.#database.prepare(sql).get() as { readonly found: number }).found > 0;
  }

  #statement(sql: string): SqliteStatement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const made = this.#database.prepare(sql);
    this.#statements.set(sql, made);
    return made;
  }

  #pragma(
    text: string,
    isMeant: (row: Readonly<Record<string, unknown>>) => boolean = () => true,
  ): Readonly<Record<string, unknown>> {
    const rows = this.#database.prepare(`PRAGMA ${text}`).all() as Readonly<Record<string, unknown>>[];
    return rows.find(isMeant) ?? {};
  }

  #isInTransaction(): boolean {
    return this.#database.inTransaction === true || this.#database.isTransaction === true;
  }

  #rollback(): void {
    try {
      // Some failures already ended the transaction.
      this.#database.exec("ROLLBACK");
    } catch {}
  }
}

const reasons: Readonly<Record<number, StorageFailure>> = {
  3: "permission",
  5: "unavailable",
  6: "unavailable",
  8: "permission",
  13: "full",
  14: "permission",
  23: "permission",
};

const numbers: Readonly<Record<string, number>> = {
  SQLITE_PERM: 3,
  SQLITE_BUSY: 5,
  SQLITE_LOCKED: 6,
  SQLITE_READONLY: 8,
  SQLITE_FULL: 13,
  SQLITE_CANTOPEN: 14,
  SQLITE_AUTH: 23,
};

/** Classifies an error of a driver. Only a lock of another process is retryable. */
export function sqliteFailure(error: unknown): StorageFailure {
  const { code, errcode } = Object(error) as { readonly code?: unknown; readonly errcode?: unknown };
  // Extended codes add details in the higher bytes, or after another underscore.
  const [name = ""] = /^SQLITE_[A-Z]+/.exec(String(code)) ?? [];
  const number = typeof errcode === "number" ? errcode & 0xff : numbers[name];
  return reasons[number ?? 0] ?? "io";
}
