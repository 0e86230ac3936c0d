import { utf8 } from "../../internal/bytes.ts";
import type { TableSelection } from "../table/LogTable.ts";
import type { SqliteValue } from "./SqliteDatabase.ts";

/** A bytes value. Some drivers pass empty bytes as NULL. */
export const bytesParameter = "coalesce(?, x'')";

/** Sorts after every id, because UTF-8 never contains this byte. */
const behindAll = Uint8Array.of(0xff);

export const sqliteVersion = 1;

/** The number of bits for positions. Rows of an agent have the number `key << 30 | position`. */
export const positionBits = 30;

export const highestPosition = 2 ** positionBits - 1;

/**
 * The tables. The row number of an append encodes the agent and the position, so an append writes a single tree without
 * a separate index. `mark` is 1 for a snapshot, 2 for a record of removed appends, and 3 for both.
 *
 * Ids are stored as JSON, because a driver truncates texts at NUL. Sort keys are stored as bytes, because JSON would
 * sort differently.
 */
export const sqliteSchema = `
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
  const sql = `SELECT a.id, a.generation, a.owner, a.beat, s.place, s.name, s.summary
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
  // An omitted id starts after all agents with this order.
  const name = after && (after.agentId === undefined ? behindAll : utf8(after.agentId));
  // The plus keeps SQLite from using another index than the index of due times.
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
