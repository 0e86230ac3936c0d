import type { PostgresNames } from "./postgresNames.ts";

/** @param row gives the columns in this order: the key of the agent, its id, and then what is listed and selected by. */
export function putSummary({ summaries }: PostgresNames, row: string): string {
  return `INSERT INTO ${summaries} (agent, name, status, place, due, updated, summary) ${row}
    ON CONFLICT (agent) DO UPDATE SET status = excluded.status, place = excluded.place, name = excluded.name,
      due = excluded.due, updated = excluded.updated, summary = excluded.summary`;
}
