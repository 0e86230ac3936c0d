import { PostgresPersistenceStorageProvider } from "../../../src/postgres.ts";
import { nextTurn } from "../../../src/internal/nextTurn.ts";
import { anyProcess } from "../../testing/log/anyProcess.ts";
import type { ReopenableHarness } from "../../testing/log/ReopenableHarness.ts";
import { ProcessClocks } from "../../testing/log/ProcessClocks.ts";
import { alterByte } from "../../testing/log/RememberingSha256.ts";
import { newSchema, pool, WatchedClient } from "./database.ts";

/** A log in a schema of its own, which many processes use. */
export async function inPostgres(): Promise<ReopenableHarness> {
  const [schema, database, clocks] = [newSchema(), await pool(), new ProcessClocks()];
  const clients: WatchedClient[] = [];
  const reopen = () => {
    const client = new WatchedClient(database);
    clients.push(client);
    const clock = clocks.start();
    return new PostgresPersistenceStorageProvider({ client, schema, clock, processIdentity: anyProcess }).log;
  };
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
