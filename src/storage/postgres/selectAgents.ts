import type { TableSelection } from "../table/LogTable.ts";
import type { PostgresValue } from "./PostgresClient.ts";
import type { PostgresNames } from "./postgresNames.ts";
import { behindAll, textBytes } from "./postgresValues.ts";

/** What the row of an agent says of its owner, of `a`. */
export const headColumns = `a.generation, a.owner, ${beatOf("a")} AS beat,
  extract(epoch FROM clock_timestamp() - a.renewed) * 1000 AS idle`;

/** The last sign of life, as text that is compared. */
export function beatOf(agent: string): string {
  return `(extract(epoch FROM ${agent}.renewed) * 1000000)::bigint::text`;
}

/** A statement with its values. */
export interface PostgresStatement {
  readonly sql: string;
  readonly values: readonly PostgresValue[];
}

/** The statement for a page of agents: the page of each status, as one in their order. */
export function selectAgents({ agents, summaries }: PostgresNames, selection: TableSelection): PostgresStatement {
  const values: PostgresValue[] = [];
  const given = (value: PostgresValue, type: string) => `$${values.push(value)}::${type}`;
  const { dueBefore, updatedBefore, after, passingLimit } = selection;
  const place = given(textBytes(after?.order ?? ""), "bytea");
  const name = given(after?.agentId === undefined ? behindEach(after) : textBytes(after.agentId), "bytea");
  const conditions = [`(place, name) > (${place}, ${name})`];
  if (dueBefore !== undefined) conditions.push(`due <= ${given(dueBefore, "bigint")}`);
  if (updatedBefore !== undefined) conditions.push(`updated <= ${given(updatedBefore, "bigint")}`);
  const each = (selection.statuses ?? [undefined]).map((status) => {
    const own = status === undefined ? [] : [`status = ${given(JSON.stringify(status), "text")}`];
    return `SELECT agent, place, name, summary FROM ${summaries} WHERE ${[...own, ...conditions].join(" AND ")}`;
  });
  /** The first so many agents, with their rows. */
  const first = (columns: string, most: string) => {
    const pages = each.map((page) => `(${page} ORDER BY place, name LIMIT ${most})`);
    return `SELECT ${columns} FROM (${pages.join(" UNION ALL ")}) AS s JOIN ${agents} AS a ON a.id = s.name
      ORDER BY s.place, s.name LIMIT ${most}`;
  };
  const limit = given(selection.limit, "bigint");
  const size = passingLimit === undefined ? limit : "(SELECT most FROM size)";
  const page = first(`s.name, s.place, s.summary, ${headColumns}, ${size} AS size`, size);
  if (passingLimit === undefined) return { sql: page, values };
  const most = `CASE WHEN count(owner) * 2 > ${limit} THEN ${given(passingLimit, "bigint")} ELSE ${limit} END`;
  return { sql: `WITH size AS (SELECT ${most} AS most FROM (${first("a.owner", limit)}) AS next) ${page}`, values };
}

/** Without an id, a page begins behind all agents in that place; without a place, at the first. */
function behindEach(after: TableSelection["after"]): Uint8Array {
  return after === undefined ? new Uint8Array() : behindAll;
}
