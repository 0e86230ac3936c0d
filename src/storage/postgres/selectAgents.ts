import { utf8 } from "../../internal/bytes.ts";
import type { TableSelection } from "../table/LogTable.ts";
import type { PostgresValue } from "./PostgresClient.ts";
import { type PostgresNames, behindAll } from "./postgresNames.ts";

export const headColumns = `a.generation, a.owner, ${beatOf("a")} AS beat,
  extract(epoch FROM clock_timestamp() - a.renewed) * 1000 AS idle`;

export function beatOf(agent: string): string {
  return `(extract(epoch FROM ${agent}.renewed) * 1000000)::bigint::text`;
}

export interface PostgresStatement {
  readonly sql: string;
  readonly values: readonly PostgresValue[];
}

export type Given = (value: PostgresValue, type: string) => string;

export function selectAgents(names: PostgresNames, selection: TableSelection): PostgresStatement {
  const values: PostgresValue[] = [];
  const given: Given = (value, type) => `$${values.push(value)}::${type}`;
  const lists = selectLists(names, selection, given);
  const first = (columns: string, most: string) => {
    const pages = lists.map((list) => `(${list} ORDER BY place, name LIMIT ${most})`);
    return `SELECT ${columns} FROM (${pages.join(" UNION ALL ")}) AS s JOIN ${names.agents} AS a ON a.id = s.name
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
