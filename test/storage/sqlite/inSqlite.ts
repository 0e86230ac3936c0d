import { join } from "node:path";
import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import { nextTurn } from "../../../src/internal/nextTurn.ts";
import { anyProcess } from "../../testing/conformance/anyProcess.ts";
import { ProcessClocks } from "../../testing/conformance/ProcessClocks.ts";
import type { ReopenableHarness } from "../../testing/conformance/ReopenableHarness.ts";
import { alterByte } from "../../testing/conformance/RememberingSha256.ts";
import { testDirectory } from "../file/support/fixture.ts";
import { AnswerLosingDatabase, libsql } from "./libsql.ts";

/** A log in an SQLite file, which many processes use. */
export async function inSqlite(): Promise<ReopenableHarness> {
  const path = join(await testDirectory(), "agents.db");
  const clocks = new ProcessClocks();
  const beside = libsql(path);
  const databases: AnswerLosingDatabase[] = [];
  const reopen = () => {
    const database = new AnswerLosingDatabase(libsql(path));
    databases.push(database);
    return new SqlitePersistenceStorageProvider({ database, clock: clocks.start(), processIdentity: anyProcess }).log;
  };
  const alter = (table: string, column: string, where: string, ...values: (string | number)[]) => {
    const key = "(SELECT key FROM agent_persistence_agents WHERE id = ?)";
    const condition = `WHERE ${where.replace("KEY", key)}`;
    const { bytes } = beside.prepare(`SELECT ${column} AS bytes FROM ${table} ${condition}`).get(...values) as {
      readonly bytes: ArrayBuffer;
    };
    const altered = new Uint8Array(bytes);
    alterByte(altered);
    beside.prepare(`UPDATE ${table} SET ${column} = ? ${condition}`).run(altered, ...values);
  };
  return {
    log: reopen(),
    reopen,
    advance: async (ms) => {
      clocks.advance(ms);
      for (let turn = 0; turn < 3; turn++) await nextTurn();
    },
    silence: () => clocks.stopAll(),
    alter: (agentId, at) =>
      alter("agent_persistence_appends", "line", "number = KEY << 30 | ?", JSON.stringify(agentId), at),
    alterBlob: (agentId, reference) =>
      alter("agent_persistence_blobs", "bytes", "agent = KEY AND reference = ?", JSON.stringify(agentId), reference),
    loseAnswer: () => databases.forEach((database) => (database.losesAnswer = true)),
  };
}
