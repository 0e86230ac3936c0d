import { utf8 } from "../../internal/bytes.ts";
import type { TableAppend, TableCreation, TablePublication, TableSummary, TableSelection } from "../table/LogTable.ts";
import type { PostgresValue } from "./PostgresConnection.ts";
import { type PostgresNames, behindAll } from "./postgresNames.ts";
import { claimable, putSummary } from "./postgresMigrations.ts";

/** The SQL statements of an owner, with the agent id `$1` and the generation `$2`. A lost owner gets no row. */
export class PostgresWrites {
  readonly #names: PostgresNames;

  constructor(names: PostgresNames) {
    this.#names = names;
  }

  head(change: string): string {
    return `UPDATE ${this.#names.agents} AS a SET ${change}
      WHERE a.id = $1::bytea AND a.generation = $2::bigint AND a.owner IS NOT NULL`;
  }

  /** Notifies listeners if a worker may continue the agent. */
  release(): string {
    const { summaries, channel } = this.#names;
    return `WITH head AS (${this.head("owner = NULL, stop = NULL")} RETURNING key)
      SELECT pg_notify('${channel}', '') FROM ${summaries} JOIN head ON agent = key WHERE status IN (${claimable})`;
  }

  /** Adds an append and its summary with an SQL function, because a connection plans a function only once. */
  append(append: TableAppend, releases: boolean): PostgresStatement {
    const { values, given } = valueList(2);
    const rest = [...rowValues(append, given), ...summaryValues(append.summary, given), String(releases)];
    return { sql: `SELECT WHERE ${this.#names.append}($1::bytea, $2::bigint, ${rest.join(", ")})`, values };
  }

  /** Returns the ids of the created agents. Concurrent statements cannot deadlock, because the agents are sorted. */
  create(creations: readonly TableCreation[]): PostgresStatement {
    const { agents, appends, summaries, channel } = this.#names;
    const { values, given } = valueList(0);
    const rows = creations.map(({ agentId, append }) => {
      const cells = [
        given(utf8(agentId), "bytea"),
        ...rowValues(append, given),
        ...summaryValues(append.summary, given),
      ];
      return `(${cells.join(", ")})`;
    });
    const sql = `WITH given (id, position, mark, line, status, place, due, updated, summary) AS (VALUES ${rows.join(", ")}),
      created AS (
        INSERT INTO ${agents} (id, generation, position) SELECT id, 1, position FROM given ORDER BY id
        ON CONFLICT (id) DO NOTHING RETURNING id, key
      ), made AS (SELECT * FROM created JOIN given USING (id)),
      appended AS (INSERT INTO ${appends} (agent, position, mark, line) SELECT key, position, mark, line FROM made),
      listed AS (INSERT INTO ${summaries} (agent, name, status, place, due, updated, summary)
        SELECT key, id, status, place, due, updated, summary FROM made WHERE summary IS NOT NULL),
      woken AS (SELECT pg_notify('${channel}', '') WHERE EXISTS (SELECT FROM made WHERE status IN (${claimable})))
      SELECT id, (SELECT count(*) FROM woken) FROM created`;
    return { sql, values };
  }

  remove(): string {
    return `WITH head AS (${this.head("renewed = now()")} RETURNING key), removed AS (
        DELETE FROM ${this.#names.appends} AS p
        USING head, json_array_elements($3::text::json) AS gap
        WHERE p.agent = head.key AND p.position BETWEEN (gap->>0)::bigint AND (gap->>1)::bigint
      ) SELECT key FROM head`;
  }

  /** `$3` is the id of the staged appends. */
  drop(): string {
    const { agents, appends, summaries, blobs } = this.#names;
    return `WITH head AS (${this.head("start = a.position, owner = NULL, stop = NULL")} RETURNING key),
      staged AS (DELETE FROM ${agents} WHERE id = $3::bytea AND EXISTS (SELECT FROM head) RETURNING key),
      a AS (DELETE FROM ${appends} WHERE agent IN (SELECT key FROM head UNION ALL SELECT key FROM staged)),
      s AS (DELETE FROM ${summaries} WHERE agent IN (SELECT key FROM head)),
      b AS (DELETE FROM ${blobs} WHERE agent IN (SELECT key FROM head))
      SELECT key FROM head`;
  }

  /** `$3` is the id of the staged appends. */
  discardStaged(): string {
    const { agents, appends } = this.#names;
    return `WITH head AS (${this.head("renewed = now()")} RETURNING key),
      staged AS (DELETE FROM ${agents} WHERE id = $3::bytea AND EXISTS (SELECT FROM head) RETURNING key),
      removed AS (DELETE FROM ${appends} WHERE agent IN (SELECT key FROM staged))
      SELECT key FROM head`;
  }

  /** `$3` is the id of the staged appends. */
  stage(appends: readonly TableAppend[]): PostgresStatement {
    if (appends.length === 0)
      return { sql: `${this.head("renewed = now()")} AND $3::bytea IS NOT NULL RETURNING key`, values: [] };
    const { values, given } = valueList(3);
    const rows = appends.map((append) => `(${rowValues(append, given).join(", ")})`);
    const sql = `WITH head AS (${this.head("renewed = now()")} RETURNING key),
      staged AS (
        INSERT INTO ${this.#names.agents} AS s (id) SELECT $3::bytea FROM head
        ON CONFLICT (id) DO UPDATE SET renewed = now() RETURNING key
      ), appended AS (
        INSERT INTO ${this.#names.appends} (agent, position, mark, line)
        SELECT staged.key, line.* FROM staged, (VALUES ${rows.join(", ")}) AS line
      ) SELECT key FROM staged`;
    return { sql, values };
  }

  /** Does not move the staged rows, but gives their key to the agent. `$3` is the id of the staged appends. */
  publish({ generation, start, append }: TablePublication): PostgresStatement {
    const { agents, blobs } = this.#names;
    const { values, given } = valueList(3);
    const changes = [
      "key = staged.key",
      `generation = ${given(generation, "bigint")}`,
      `start = ${given(start, "bigint")}`,
      `position = ${given(append.position, "bigint")}`,
      "renewed = now()",
    ];
    const owned = "id = $1::bytea AND generation = $2::bigint AND owner IS NOT NULL";
    const sql = `WITH before AS (SELECT key FROM ${agents} WHERE ${owned} FOR UPDATE),
      staged AS (DELETE FROM ${agents} WHERE id = $3::bytea AND EXISTS (SELECT FROM before) RETURNING key),
      head AS (UPDATE ${agents} AS a SET ${changes.join(", ")} FROM staged WHERE a.id = $1::bytea RETURNING a.key),
      moved AS (UPDATE ${blobs} AS b SET agent = staged.key FROM staged, before WHERE b.agent = before.key)
      ${this.#summary(append, given)} ${this.#insert(append, given)}`;
    return { sql, values };
  }

  #insert(append: TableAppend, given: Given): string {
    return `INSERT INTO ${this.#names.appends} (agent, position, mark, line)
      SELECT key, ${rowValues(append, given).join(", ")} FROM head RETURNING agent`;
  }

  #summary({ summary }: TableAppend, given: Given): string {
    if (summary === undefined) return "";
    const values = summaryValues(summary, given).join(", ");
    return `, summary AS (${putSummary(this.#names, `SELECT key, $1::bytea, ${values} FROM head`)})`;
  }
}

function rowValues(append: TableAppend, given: Given): string[] {
  return [given(append.position, "bigint"), given(markOf(append), "smallint"), given(append.encoded, "bytea")];
}

function summaryValues(summary: TableSummary | undefined, given: Given): string[] {
  return [
    given(summary ? JSON.stringify(summary.status) : null, "text"),
    given(summary ? utf8(summary.order) : null, "bytea"),
    given(summary?.dueAt ?? null, "bigint"),
    given(summary?.updatedAt ?? null, "bigint"),
    given(summary?.text ?? null, "text"),
  ];
}

function valueList(before: number): { readonly values: PostgresValue[]; readonly given: Given } {
  const values: PostgresValue[] = [];
  return { values, given: (value, type) => `$${before + values.push(value)}::${type}` };
}

function markOf({ snapshot, pruned }: TableAppend): number | null {
  return Number(snapshot) + 2 * Number(pruned) || null;
}

export const headColumns = `a.generation, a.owner, ${beatOf("a")} AS beat,
  (extract(epoch FROM clock_timestamp()) - extract(epoch FROM a.renewed)) * 1000 AS idle`;

/** The time of the last renewal in microseconds. Limits damaged times, which would otherwise make every list fail. */
export function beatOf(agent: string): string {
  const limit = "9000000000000000000";
  return `least(greatest(extract(epoch FROM ${agent}.renewed) * 1000000, -${limit}), ${limit})::bigint::text`;
}

interface PostgresStatement {
  readonly sql: string;
  readonly values: readonly PostgresValue[];
}

type Given = (value: PostgresValue, type: string) => string;

export function selectAgents(names: PostgresNames, selection: TableSelection): PostgresStatement {
  const values: PostgresValue[] = [];
  const given: Given = (value, type) => `$${values.push(value)}::${type}`;
  const lists = selectLists(names, selection, given);
  const first = (columns: string, most: string) => {
    const pages = lists.map((list) => `(${list} ORDER BY place, name LIMIT ${most})`);
    // A summary with a changed name matches no agent. The summary stays in the page, because a short page would end the
    // list.
    return `SELECT ${columns} FROM (${pages.join(" UNION ALL ")}) AS s LEFT JOIN ${names.agents} AS a ON a.id = s.name
      ORDER BY s.place, s.name LIMIT ${most}`;
  };
  const { passingLimit } = selection;
  const limit = given(selection.limit, "bigint");
  const size = passingLimit === undefined ? limit : "(SELECT most FROM size)";
  const page = first(`s.name, s.place, s.summary, ${headColumns}, ${size} AS size`, size);
  if (passingLimit === undefined) return { sql: page, values };
  const most = `CASE WHEN count(owner) * 2 > ${limit} THEN ${given(passingLimit, "bigint")} ELSE ${limit} END`;
  return { sql: `WITH size AS (SELECT ${most} AS most FROM (${first("a.owner", limit)}) AS next) ${page}`, values };
}

function selectLists({ summaries }: PostgresNames, selection: TableSelection, given: Given): readonly string[] {
  const { dueBefore, updatedBefore, after } = selection;
  const place = given(utf8(after?.order ?? ""), "bytea");
  const name = given(after?.agentId === undefined ? behindEach(after) : utf8(after.agentId), "bytea");
  const conditions = [`(place, name) > (${place}, ${name})`];
  if (dueBefore !== undefined) conditions.push(`due <= ${given(dueBefore, "bigint")}`);
  if (updatedBefore !== undefined) conditions.push(`updated <= ${given(updatedBefore, "bigint")}`);
  return (selection.statuses ?? [undefined]).map((status) => {
    const own = status === undefined ? [] : [`status = ${given(JSON.stringify(status), "text")}`];
    return `SELECT agent, place, name, summary FROM ${summaries} WHERE ${[...own, ...conditions].join(" AND ")}`;
  });
}

/** Returns the lower bound of a page: after all agents with this order, or before the first agent. */
function behindEach(after: TableSelection["after"]): Uint8Array {
  return after === undefined ? new Uint8Array() : behindAll;
}
