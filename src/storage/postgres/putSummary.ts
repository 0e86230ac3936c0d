import type { PostgresNames } from "./postgresNames.ts";

/** @param row - yields the agent's key and id, followed by the list columns in order. */
export function putSummary({ summaries }: PostgresNames, row: string): string {
  return `INSERT INTO ${summaries} (agent, name, status, place, due, updated, summary) ${row}
    ON CONFLICT (agent) DO UPDATE SET status = excluded.status, place = excluded.place, name = excluded.name,
      due = excluded.due, updated = excluded.updated, summary = excluded.summary`;
}
