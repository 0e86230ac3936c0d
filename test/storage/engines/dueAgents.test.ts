import { join } from "node:path";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import { processOwner } from "agent-persistence/storage";
import { describe, expect, it, vi } from "vitest";
import { selectAgents } from "../../../src/storage/postgres/PostgresWrites.ts";
import { postgresNames } from "../../../src/storage/postgres/postgresNames.ts";
import { listSql } from "../../../src/storage/sqlite/SqliteConnection.ts";
import { appendText, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { testDirectory, collect } from "../file/support/fixture.ts";
import { newSchema, pool } from "../postgres/database.ts";
import { fillQueue } from "../postgres/fillQueue.ts";
import { libsql } from "../sqlite/libsql.ts";

const now = Date.UTC(2026, 0, 2);
const due = { status: ["waiting", "failed"], dueBefore: new Date(now).toISOString() } as const;
const selection = { statuses: due.status, dueBefore: now, limit: 100 };

describe("a list of due agents", () => {
  it("compares the times of few agents in memory", async () => {
    const comparisons = async (sleeping: number) => {
      const { log } = new InMemoryPersistenceStorageProvider();
      const add = async (agentId: string, dueAt: string, order = agentId) => {
        const owned = await log.open(agentId, processOwner());
        await appendText(owned, "x", { summary: exampleSummary(agentId, "waiting", { dueAt, order }) });
        await owned.release();
      };
      for (let n = 0; n < sleeping; n++) await add(`sleeping ${n}`, `2026-02-01T00:00:${10 + (n % 50)}.000Z`);
      await add("late", "2026-01-01T00:00:00.000Z", "b");
      await add("later", "2026-01-01T23:00:00+00:00", "a");
      const parse = vi.spyOn(Date, "parse");
      try {
        const found = (await collect(log.list(due))).map(({ agentId }) => agentId);
        expect(found).toEqual(["later", "late"]);
        return parse.mock.calls.length;
      } finally {
        parse.mockRestore();
      }
    };
    // A binary search among 4,096 takes nine steps more than one among 8.
    expect((await comparisons(4_096)) - (await comparisons(8))).toBeLessThanOrEqual(10);
  });

  it("reads the index of due times in SQLite", async () => {
    const database = libsql(join(await testDirectory(), "agents.db"));
    const { log } = new SqlitePersistenceStorageProvider({ database });
    expect(await collect(log.list(due))).toEqual([]);
    for (const one of [selection, { ...selection, after: { order: "x" } }, { dueBefore: now, limit: 1 }]) {
      const { sql, values } = listSql(one);
      const plan = JSON.stringify(database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values));
      const searches = [...plan.matchAll(/(SEARCH|SCAN) agent_persistence_summaries[^"]*/g)].map(([text]) => text);
      expect(new Set(searches)).toEqual(
        new Set(["SEARCH agent_persistence_summaries USING INDEX agent_persistence_dues (due<?)"]),
      );
    }
    await log.close();
  });

  it("reads few rows among 5,000 sleeping agents in Postgres", async () => {
    const [database, schema] = [await pool(), newSchema()];
    const storage = new PostgresPersistenceStorageProvider({ client: database, schema });
    await storage.log.owner("nobody");
    await fillQueue(database, schema, { running: 0, waiting: 5_000 });
    await database.query(`ANALYZE ${schema}.agent_persistence_summaries`);
    const { sql, values } = selectAgents(postgresNames(schema), { ...selection, passingLimit: 2_500 });
    const { rows } = await database.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`, [...values]);
    const plan = JSON.stringify(rows);
    expect(plan).toContain('"Index Name":"agent_persistence_dues"');
    const removed = [...plan.matchAll(/"Rows Removed by Filter":(\d+)/g)].map(([, count]) => Number(count));
    expect(Math.max(0, ...removed)).toBe(0);
    await storage.log.close();
  });
});
