import { UnsupportedFormatError } from "../../errors/storedDataErrors.ts";
import type { StorageFailure } from "../../errors/storageErrors.ts";
import { utf8 } from "../../internal/bytes.ts";
import type { TableSelection } from "../table/LogTable.ts";

/**
 * A connection to an SQLite database, compatible with `node:sqlite`, better-sqlite3 and libsql. Only the storage may
 * use the connection. The storage throws if a transaction is open, because that transaction would include its writes.
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

/** The SQL of a parameter for bytes. Some drivers pass empty bytes as NULL. */
export const bytesParameter = "coalesce(?, x'')";

/** Sorts after every id, because UTF-8 never contains this byte. */
const behindAll = Uint8Array.of(0xff);

const sqliteVersion = 1;

/** The number of bits for positions. Rows of an agent have the number `key << 30 | position`. */
export const positionBits = 30;

export const highestPosition = 2 ** positionBits - 1;

/**
 * The SQL that creates the tables. The row number of an append contains the agent and the position, so an append needs
 * no separate index. `mark` is 1 for a snapshot, 2 for a record of removed appends, and 3 for both.
 *
 * Ids are JSON, because a driver truncates texts at NUL. Sort keys are bytes, because JSON sorts differently.
 */
const sqliteSchema = `
CREATE TABLE IF NOT EXISTS agent_persistence (version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS agent_persistence_agents (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  generation INTEGER NOT NULL,
  start INTEGER NOT NULL DEFAULT 0,
  owner TEXT,
  beat TEXT NOT NULL,
  stop TEXT
);
CREATE TABLE IF NOT EXISTS agent_persistence_appends (number INTEGER PRIMARY KEY, mark INTEGER, line BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS agent_persistence_marks ON agent_persistence_appends (mark) WHERE mark IS NOT NULL;
CREATE TABLE IF NOT EXISTS agent_persistence_summaries (
  agent INTEGER PRIMARY KEY,
  status TEXT NOT NULL,
  place BLOB NOT NULL,
  name BLOB NOT NULL,
  due INTEGER,
  updated INTEGER NOT NULL,
  summary TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS agent_persistence_places ON agent_persistence_summaries (place, name);
CREATE INDEX IF NOT EXISTS agent_persistence_statuses ON agent_persistence_summaries (status, place, name);
CREATE INDEX IF NOT EXISTS agent_persistence_dues ON agent_persistence_summaries (due) WHERE due IS NOT NULL;
CREATE TABLE IF NOT EXISTS agent_persistence_blobs (
  agent INTEGER NOT NULL,
  reference TEXT NOT NULL,
  bytes BLOB NOT NULL,
  UNIQUE (agent, reference)
);
INSERT INTO agent_persistence (version) SELECT ${sqliteVersion} WHERE NOT EXISTS (SELECT 1 FROM agent_persistence);
`;

export function listSql(selection: TableSelection): { readonly sql: string; readonly values: readonly SqliteValue[] } {
  const statuses = selection.statuses ?? [undefined];
  const parts = statuses.map((status) => pageOf(status, selection));
  const sql = `SELECT a.id, a.generation, a.owner, a.beat, s.place, CAST(s.name AS BLOB) AS name, s.summary
    FROM (${parts.map((part) => `SELECT * FROM (${part.sql})`).join(" UNION ALL ")}) AS s
    JOIN agent_persistence_agents AS a ON a.key = s.agent
    ORDER BY s.place, s.name LIMIT ?`;
  return { sql, values: [...parts.flatMap(({ values }) => values), selection.limit] };
}

function pageOf(
  status: string | undefined,
  { dueBefore, updatedBefore, after, limit }: TableSelection,
): { readonly sql: string; readonly values: readonly SqliteValue[] } {
  const place = utf8(after?.order ?? "");
  // Without an id, the page starts after all agents with this order.
  const name = after && (after.agentId === undefined ? behindAll : utf8(after.agentId));
  // With a plus, SQLite cannot use the index of this column, so it uses the index of due times.
  const own = dueBefore === undefined ? "" : "+";
  const conditions: readonly (readonly [sql: string, ...values: (SqliteValue | undefined)[]])[] = [
    [`(${own}place, ${own}name) > (${bytesParameter}, ${bytesParameter})`, place, name ?? new Uint8Array()],
    [`${own}status = ?`, status],
    ["due <= ?", dueBefore],
    ["updated <= ?", updatedBefore],
  ];
  const asked = conditions.filter(([, ...values]) => !values.includes(undefined));
  const where = asked.map(([text]) => text).join(" AND ");
  const sql = `SELECT agent, place, name, summary FROM agent_persistence_summaries
    WHERE ${where} ORDER BY ${own}place, ${own}name LIMIT ?`;
  return { sql, values: [...asked.flatMap(([, ...values]) => values as SqliteValue[]), limit] };
}

/** The milliseconds that a statement waits for a lock, unless the user configured another time. */
const busyTimeoutMs = 5_000;
/** In bytes. With rows of about 2 KB, the file is a third smaller than with pages of 4 KB. */
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

  /** Returns the first row. `get` of a driver may leave a write uncommitted and does not report a failed commit. */
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

  /** Throws if the application has an open transaction, because writes in it are not durable before its commit. */
  assertOwn(): void {
    if (this.#isInTransaction())
      throw new Error("a transaction is open on this connection, so open a separate connection for the storage");
  }

  prepare(): void {
    if (this.#isReady) return;
    this.assertOwn();
    if (Object.values(this.#pragma("busy_timeout"))[0] === 0) this.#pragma(`busy_timeout = ${busyTimeoutMs}`);
    if (this.#pragma("page_count")["page_count"] === 0) this.#database.exec(`PRAGMA page_size = ${pageSize}`);
    // Setting the mode waits for a lock, but reading it does not.
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
      // Some failures have already rolled back the transaction.
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

/** Classifies an error of a driver. Only a database that another process has locked is `unavailable`. */
export function sqliteFailure(error: unknown): StorageFailure {
  const { code, errcode } = Object(error) as { readonly code?: unknown; readonly errcode?: unknown };
  // Extended codes add details in the higher bytes, or after another underscore.
  const [name = ""] = /^SQLITE_[A-Z]+/.exec(String(code)) ?? [];
  const number = typeof errcode === "number" ? errcode & 0xff : numbers[name];
  return reasons[number ?? 0] ?? "io";
}
