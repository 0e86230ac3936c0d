import { PostgresPersistenceStorageProvider } from "../../../src/postgres.ts";
import type { RecordLog } from "../../../src/storage/RecordLog.ts";
import { nextTurn } from "../../../src/internal/nextTurn.ts";
import { anyProcess } from "../../testing/conformance/anyProcess.ts";
import type { ReopenableHarness } from "../../testing/conformance/ReopenableHarness.ts";
import { ProcessClocks } from "../../testing/conformance/ProcessClocks.ts";
import { alterByte } from "../../testing/conformance/RememberingSha256.ts";
import { onTestFinished } from "vitest";
import { newSchema, pool, WatchedClient } from "./database.ts";

/** Schemas with empty tables: to make tables takes longer than most tests. */
const spare: string[] = [];

/** A log in a schema of its own, which many processes use. */
export async function inPostgres(): Promise<ReopenableHarness> {
  const [schema, database, clocks] = [spare.pop() ?? newSchema(), await pool(), new ProcessClocks()];
  const clients: WatchedClient[] = [];
  const logs: RecordLog[] = [];
  const reopen = () => {
    const client = new WatchedClient(database);
    clients.push(client);
    const options = { client, schema, clock: clocks.start(), processIdentity: anyProcess };
    const { log } = new PostgresPersistenceStorageProvider(options);
    logs.push(log);
    return log;
  };
  onTestFinished(async () => {
    await Promise.allSettled(logs.map((log) => log.close()));
    for (const client of clients) await client.idle();
    const tables = ["agents", "appends", "summaries", "blobs"];
    const clear = tables.map((table) => `DELETE FROM ${schema}.agent_persistence_${table}`).join("; ");
    // A test that asked for nothing has no tables.
    await database.query(clear).then(
      () => spare.push(schema),
      () => {},
    );
  });
  const alter = async (table: string, column: string, key: string, agentId: string, value: string | number) => {
    const where = `t.agent = (SELECT key FROM ${schema}.agent_persistence_agents WHERE id = $1) AND t.${key} = $2`;
    const values = [Buffer.from(agentId), value];
    const sql = `SELECT t.${column} AS bytes FROM ${schema}.${table} AS t WHERE ${where}`;
    const [row] = (await database.query<{ readonly bytes: Buffer }>(sql, values)).rows;
    if (row === undefined) throw new Error("there is nothing to alter");
    alterByte(row.bytes);
    await database.query(`UPDATE ${schema}.${table} AS t SET ${column} = $3 WHERE ${where}`, [...values, row.bytes]);
  };
  return {
    log: reopen(),
    reopen,
    // Leases are judged by the clock of the server: what it knows becomes older.
    advance: async (ms) => {
      const old = `renewed = renewed - make_interval(secs => ${ms / 1000})`;
      await database.query(`UPDATE ${schema}.agent_persistence_agents SET ${old}`).catch(() => {});
      clocks.advance(ms);
      await nextTurn();
      for (const client of clients) await client.idle();
    },
    silence: () => clocks.stopAll(),
    alter: (agentId, at) => alter("agent_persistence_appends", "line", "position", agentId, at),
    alterBlob: (agentId, reference) => alter("agent_persistence_blobs", "bytes", "reference", agentId, reference),
    loseAnswer: () => clients.forEach((client) => (client.losesAnswer = true)),
  };
}
