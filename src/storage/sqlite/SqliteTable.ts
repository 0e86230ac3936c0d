import { StorageError } from "../../errors/storageErrors.ts";
import { fromUtf8, utf8 } from "../../internal/bytes.ts";
import type { LogCapabilities } from "../RecordLog.ts";
import type {
  LogTable,
  TableAppend,
  TableBlobs,
  TableClaim,
  TableCreation,
  TableGap,
  TableHead,
  TableList,
  TablePage,
  TablePruned,
  TablePublication,
  TableRange,
  TableRenewal,
  TableRow,
  TableSelection,
  TableSighting,
  TableSummary,
} from "../table/LogTable.ts";
import {
  SqliteConnection,
  sqliteFailure,
  listSql,
  bytesParameter,
  highestPosition,
  positionBits,
  type SqliteDatabase,
} from "./SqliteConnection.ts";
import { type Bytes, bytesOf, ensureAgent, SqliteBlobs } from "./SqliteBlobs.ts";

const pageRows = 200;

const base = `(a.key << ${positionBits})`;
const isOwned = "a.id = ? AND a.generation = ? AND a.owner IS NOT NULL";
const lastNumber = `SELECT number FROM agent_persistence_appends
  WHERE number > ${base} AND number <= (${base} | ${highestPosition}) ORDER BY number DESC LIMIT 1`;

interface Agent {
  readonly key: number;
  readonly owner: string;
  readonly beat: string;
  readonly end: number;
}

/**
 * The rows of agents in an SQLite database. Every method is one atomic statement or transaction. Every statement has a
 * value other than bytes, because a driver may otherwise abort the process.
 */
export class SqliteTable implements LogTable {
  readonly name = "SQLite";
  readonly blobs: TableBlobs;
  readonly #connection: SqliteConnection;

  constructor(database: SqliteDatabase) {
    this.#connection = new SqliteConnection(database);
    this.blobs = new SqliteBlobs((action) => this.#at(action));
  }

  get capabilities(): LogCapabilities {
    const one = this.#connection.isInMemory;
    return { durable: !one, processes: one ? "one" : "many", machines: "one", listing: "exact", narrows: true };
  }

  reasonOf(error: unknown): ReturnType<typeof sqliteFailure> {
    return sqliteFailure(error);
  }

  head(agentId: string): Promise<TableHead | undefined> {
    return this.#at((db) => {
      const sql = "SELECT generation, owner, beat, stop FROM agent_persistence_agents WHERE id = ?";
      const row = db.get<HeadRow>(sql, JSON.stringify(agentId));
      return row && headOf(row);
    });
  }

  claim(agentId: string, { owner, beat }: TableClaim, replaced?: TableSighting): Promise<number | undefined> {
    return this.#at((db) => {
      const { generation, beat: seen } = replaced ?? { generation: 0, beat: "" };
      const sql = `INSERT INTO agent_persistence_agents AS a (id, generation, owner, beat) VALUES (?, 1, ?, ?)
        ON CONFLICT (id) DO UPDATE SET
          generation = a.generation + 1, owner = excluded.owner, beat = excluded.beat, stop = NULL
        WHERE a.owner IS NULL OR (a.generation = ? AND a.beat = ?)
        RETURNING generation`;
      return db.get<HeadRow>(sql, JSON.stringify(agentId), owner, beat, generation, seen)?.generation;
    });
  }

  renew(agentId: string, generation: number, beat: string): Promise<TableRenewal | undefined> {
    return this.#at((db) => {
      const sql = `UPDATE agent_persistence_agents AS a SET beat = ? WHERE ${isOwned} RETURNING stop`;
      const row = db.get<{ readonly stop: string | null }>(sql, beat, JSON.stringify(agentId), generation);
      return row && { stop: row.stop === null ? undefined : (JSON.parse(row.stop) as string) };
    });
  }

  release(agentId: string, generation: number): Promise<void> {
    return this.#at((db) => void db.run(releaseSql, JSON.stringify(agentId), generation));
  }

  requestStop(agentId: string, generation: number, reason: string): Promise<void> {
    return this.#at((db) => {
      const sql = `UPDATE agent_persistence_agents AS a SET stop = ? WHERE ${isOwned}`;
      db.run(sql, JSON.stringify(reason), JSON.stringify(agentId), generation);
    });
  }

  append(agentId: string, generation: number, append: TableAppend): Promise<boolean> {
    const { summary } = append;
    return this.#at((db) => {
      if (summary === undefined) return insert(db, agentId, generation, append);
      return db.transaction(() => {
        if (!insert(db, agentId, generation, append)) return false;
        putSummary(db, agentId, summary);
        return true;
      });
    });
  }

  appendAndRelease(agentId: string, generation: number, append: TableAppend): Promise<boolean> {
    return this.#at((db) =>
      db.transaction(() => {
        if (!insert(db, agentId, generation, append)) return false;
        if (append.summary) putSummary(db, agentId, append.summary);
        return db.run(releaseSql, JSON.stringify(agentId), generation) > 0;
      }),
    );
  }

  create(agents: readonly TableCreation[]): Promise<readonly string[]> {
    return this.#at((db) =>
      db.transaction(() => agents.filter((agent) => createAgent(db, agent)).map(({ agentId }) => agentId)),
    );
  }

  rows(agentId: string, { after, upTo = highestPosition, sinceSnapshot, last }: TableRange): Promise<TablePage> {
    return this.#at((db) => {
      const [from, to] = [Math.min(after, highestPosition), Math.min(upTo, highestPosition)];
      // Uses one lower bound. With two bounds, an index search would start at the lower one.
      const start = sinceSnapshot ? `max(${base} | ?, coalesce((${snapshotNumber}) - 1, 0))` : `(${base} | ?)`;
      const sql = `SELECT a.start, p.number & ${highestPosition} AS position, p.line
        FROM agent_persistence_agents AS a LEFT JOIN agent_persistence_appends AS p
          ON p.number > ${start} AND p.number <= (${base} | ?)
        WHERE a.id = ? ORDER BY p.number ${last ? "DESC LIMIT 1" : `LIMIT ${pageRows}`}`;
      const bounds = sinceSnapshot ? [from, from, to, to] : [from, to];
      const found = db.all<AppendRow>(sql, ...bounds, JSON.stringify(agentId));
      return { start: found[0]?.start ?? 0, rows: found.flatMap(rowOf), more: !last && found.length === pageRows };
    });
  }

  pruned(agentId: string): Promise<TablePruned> {
    return this.#at((db) => {
      const sql = `SELECT a.start, p.number & ${highestPosition} AS position
        FROM agent_persistence_agents AS a LEFT JOIN agent_persistence_appends AS p
          ON p.mark IN (2, 3) AND p.number > ${base} AND p.number <= (${base} | ${highestPosition})
        WHERE a.id = ? ORDER BY p.number`;
      const found = db.all<Omit<AppendRow, "line">>(sql, JSON.stringify(agentId));
      return { start: found[0]?.start ?? 0, positions: found.flatMap(({ position }) => position ?? []) };
    });
  }

  remove(agentId: string, generation: number, ranges: readonly TableGap[]): Promise<boolean> {
    return this.#own(agentId, generation, (db, { key }) => {
      for (const [first, last] of ranges) removeAppends(db, key, first, last);
    });
  }

  drop(agentId: string, generation: number): Promise<boolean> {
    return this.#own(agentId, generation, (db, { key, end }) => {
      removeAppends(db, key, 0, highestPosition);
      const staged = db.get<Pick<Agent, "key">>(keySql, stagedId(agentId));
      if (staged) removeAppends(db, staged.key, 0, highestPosition);
      db.run("DELETE FROM agent_persistence_summaries WHERE agent = ?", key);
      db.run("DELETE FROM agent_persistence_blobs WHERE agent = ?", key);
      const sql = "UPDATE agent_persistence_agents SET start = ?, owner = NULL, stop = NULL WHERE key = ?";
      db.run(sql, end, key);
    });
  }

  stage(agentId: string, generation: number, appends: readonly TableAppend[], first: boolean): Promise<boolean> {
    return this.#own(agentId, generation, (db) => {
      const id = stagedId(agentId);
      ensureAgent(db, id);
      const key = keyOf(db, id);
      if (first) removeAppends(db, key, 0, highestPosition);
      for (const append of appends) insertInto(db, key, append);
    });
  }

  /** Does not move the staged rows. The row of the staging id becomes the row of the agent. */
  publish(agentId: string, generation: number, published: TablePublication): Promise<boolean> {
    const { start, append } = published;
    return this.#own(agentId, generation, (db, { key, owner, beat }) => {
      const staged = keyOf(db, stagedId(agentId));
      insertInto(db, staged, append);
      db.run("UPDATE agent_persistence_blobs SET agent = ? WHERE agent = ?", staged, key);
      db.run("DELETE FROM agent_persistence_agents WHERE key = ?", key);
      const sql = `UPDATE agent_persistence_agents
        SET id = ?, generation = ?, start = ?, owner = ?, beat = ? WHERE key = ?`;
      db.run(sql, JSON.stringify(agentId), published.generation, start, owner, beat, staged);
      if (append.summary) putSummary(db, agentId, append.summary);
    });
  }

  list(selection: TableSelection): Promise<TableList> {
    return this.#at((db) => {
      const { sql, values } = listSql(selection);
      const agents = db.all<HeadRow & ListedRow>(sql, ...values).map((row) => ({
        agentId: fromUtf8(row.name),
        order: fromUtf8(row.place),
        // If the summary has the id of another agent, an empty text reports it as damaged. SQLite can store bytes as a
        // text.
        text: row.id === JSON.stringify(fromUtf8(row.name)) ? String(row.summary) : "",
        head: headOf(row),
      }));
      return { agents, more: agents.length === selection.limit };
    });
  }

  #own(agentId: string, generation: number, action: (db: SqliteConnection, agent: Agent) => void): Promise<boolean> {
    return this.#at((db) =>
      db.transaction(() => {
        const sql = `SELECT a.key, a.owner, a.beat, coalesce((${lastNumber}) & ${highestPosition}, a.start) AS end
          FROM agent_persistence_agents AS a WHERE ${isOwned}`;
        const agent = db.get<Agent>(sql, JSON.stringify(agentId), generation);
        if (agent === undefined) return false;
        action(db, agent);
        return true;
      }),
    );
  }

  async #at<Result>(action: (db: SqliteConnection) => Result): Promise<Result> {
    this.#connection.prepare();
    this.#connection.assertOwn();
    return action(this.#connection);
  }
}

const snapshotNumber = `SELECT max(s.number) FROM agent_persistence_appends AS s
  WHERE s.mark IN (1, 3) AND s.number > (${base} | ?) AND s.number <= (${base} | ?)`;

const releaseSql = `UPDATE agent_persistence_agents AS a SET owner = NULL, stop = NULL WHERE ${isOwned}`;

const insertSql = `INSERT INTO agent_persistence_appends (number, mark, line)
  SELECT ${base} | ?, nullif(?, 0), ? FROM agent_persistence_agents AS a
  WHERE ${isOwned} AND coalesce((${lastNumber}) & ${highestPosition}, a.start) = ?`;

function insert(
  db: SqliteConnection,
  agentId: string,
  generation: number,
  { position, encoded, snapshot, pruned }: TableAppend,
): boolean {
  const mark = Number(snapshot) + 2 * Number(pruned);
  assertPosition(position);
  return db.run(insertSql, position, mark, encoded, JSON.stringify(agentId), generation, position - 1) > 0;
}

function createAgent(db: SqliteConnection, { agentId, append }: TableCreation): boolean {
  const sql = `INSERT INTO agent_persistence_agents (id, generation, beat) VALUES (?, 1, '')
    ON CONFLICT (id) DO NOTHING RETURNING key`;
  const agent = db.get<Pick<Agent, "key">>(sql, JSON.stringify(agentId));
  if (agent === undefined) return false;
  insertInto(db, agent.key, append);
  if (append.summary) putSummary(db, agentId, append.summary);
  return true;
}

const keySql = "SELECT key FROM agent_persistence_agents WHERE id = ?";

function stagedId(agentId: string): string {
  return JSON.stringify([agentId]);
}

function keyOf(db: SqliteConnection, id: string): number {
  return db.get<Pick<Agent, "key">>(keySql, id)?.key ?? 0;
}

function insertInto(db: SqliteConnection, key: number, { position, encoded, snapshot, pruned }: TableAppend): void {
  assertPosition(position);
  const sql = `INSERT INTO agent_persistence_appends (number, mark, line) VALUES (? << ${positionBits} | ?, nullif(?, 0), ?)`;
  db.run(sql, key, position, Number(snapshot) + 2 * Number(pruned), encoded);
}

/** Rejects a position that would be stored as a row of another agent. Imported logs can have too high positions. */
function assertPosition(position: number): void {
  if (position <= highestPosition) return;
  const advice = `SQLite stores no position above ${highestPosition}. Use another storage for this log.`;
  throw new StorageError("io", "append", `position ${position} in SQLite`, { advice });
}

function putSummary(
  db: SqliteConnection,
  agentId: string,
  { status, order, dueAt, updatedAt, text }: TableSummary,
): void {
  const sql = `INSERT INTO agent_persistence_summaries (agent, status, place, name, due, updated, summary)
    SELECT key, ?, ${bytesParameter}, ${bytesParameter}, nullif(?, ''), ?, ? FROM agent_persistence_agents WHERE id = ?
    ON CONFLICT (agent) DO UPDATE SET status = excluded.status, place = excluded.place, name = excluded.name,
      due = excluded.due, updated = excluded.updated, summary = excluded.summary`;
  const [place, name] = [utf8(order), utf8(agentId)];
  db.run(sql, status, place, name, dueAt ?? "", updatedAt, text, JSON.stringify(agentId));
}

function removeAppends(db: SqliteConnection, key: number, first: number, last: number): void {
  const sql = `DELETE FROM agent_persistence_appends
    WHERE number >= (? << ${positionBits} | ?) AND number <= (? << ${positionBits} | ?)`;
  db.run(sql, key, first, key, Math.min(last, highestPosition));
}

interface HeadRow {
  readonly generation: number;
  readonly owner: string | null;
  readonly beat: string;
  readonly stop?: string | null;
}

interface AppendRow {
  readonly start: number;
  readonly position: number | null;
  readonly line: Bytes | null;
}

interface ListedRow {
  readonly id: string;
  readonly name: Bytes;
  readonly place: Bytes;
  readonly summary: string;
}

function headOf({ generation, owner, beat, stop = null }: HeadRow): TableHead {
  return {
    generation,
    // SQLite stores bytes in any column.
    beat: String(beat),
    ...(owner !== null && { owner }),
    ...(stop !== null && { stop: JSON.parse(stop) as string }),
  };
}

function rowOf({ position, line }: AppendRow): TableRow[] {
  return position === null || line === null ? [] : [{ position, encoded: bytesOf(line) }];
}
