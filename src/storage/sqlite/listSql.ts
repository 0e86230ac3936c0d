import type { TableSelection } from "../table/LogTable.ts";
import type { SqliteValue } from "./SqliteDatabase.ts";

/** A bytes value. Some drivers pass empty bytes as NULL. */
export const placeBytes = "coalesce(?, x'')";

/** Sorts after every id, because UTF-8 never contains this byte. */
const behindAll = Uint8Array.of(0xff);

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
  const [place, name] = [textBytes(after?.order ?? ""), after && textBytes(after.agentId)];
  const conditions: readonly (readonly [sql: string, ...values: (SqliteValue | undefined)[]])[] = [
    [`(place, name) > (${placeBytes}, ${placeBytes})`, place, name ?? new Uint8Array()],
    ["status = ?", status],
    ["due <= ?", dueBefore],
    ["updated <= ?", updatedBefore],
  ];
  const asked = conditions.filter(([, ...values]) => !values.includes(undefined));
  const where = asked.map(([text]) => text).join(" AND ");
  const sql = `SELECT agent, place, name, summary FROM agent_persistence_summaries
    WHERE ${where} ORDER BY place, name LIMIT ?`;
  return { sql, values: [...asked.flatMap(([, ...values]) => values as SqliteValue[]), limit] };
}

/** Returns the UTF-8 bytes of a text. For `undefined`, returns bytes that sort after every text. */
export function textBytes(text: string | undefined): Uint8Array {
  return text === undefined ? behindAll : new TextEncoder().encode(text);
}

export function textOf(bytes: Uint8Array | ArrayBuffer): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
