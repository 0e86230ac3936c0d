import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { processOwner } from "agent-persistence/storage";
import type pg from "pg";
import { platformSha256 } from "../../../src/internal/sha256/platformSha256.ts";
import { tableSummary } from "../../../src/storage/table/listTable.ts";
import { exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";

/** How many tasks are made in each status. */
export interface QueuedTasks {
  /** By the process that asks. */
  readonly running: number;
  /** Until the year 3000. */
  readonly waiting: number;
}

/** Longer than any test takes: nobody renews. */
const leaseMs = 3_600_000;

/** Makes many tasks with one statement, with the owner of an agent that is opened for it. */
export async function fillQueue(database: pg.Pool, schema: string, { running, waiting }: QueuedTasks): Promise<void> {
  const sha256 = await platformSha256();
  const { log } = new PostgresPersistenceStorageProvider({ client: database, schema, leaseMs });
  await log.open("owner", processOwner());
  const rows = Array.from({ length: running + waiting }, (_, n) => {
    const [agentId, status] = [`task ${n}`, n < running ? "in_progress" : "waiting"];
    const order = String(n).padStart(9, "0");
    const summary = exampleSummary(agentId, status, { order, dueAt: "3000-01-01T00:00:00.000Z", reserves: [] });
    const { dueAt, updatedAt, text } = tableSummary(summary, sha256);
    return { id: agentId, owned: n < running, status: JSON.stringify(status), place: order, dueAt, updatedAt, text };
  });
  const table = (name: string) => `${schema}.agent_persistence_${name}`;
  const columns = `id text, owned boolean, status text, place text, "dueAt" bigint, "updatedAt" bigint, text text`;
  await database.query(
    `WITH given AS (SELECT * FROM json_to_recordset($1::json) AS row (${columns})),
      made AS (
        INSERT INTO ${table("agents")} (id, generation, owner)
        SELECT convert_to(given.id, 'UTF8'), 1, CASE WHEN owned THEN a.owner END
        FROM given, ${table("agents")} AS a RETURNING id, key
      )
      INSERT INTO ${table("summaries")} (agent, status, place, name, due, updated, summary)
      SELECT key, status, convert_to(place, 'UTF8'), made.id, "dueAt", "updatedAt", text
      FROM given JOIN made ON made.id = convert_to(given.id, 'UTF8')`,
    [JSON.stringify(rows)],
  );
}
