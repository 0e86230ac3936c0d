import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import { recordLogConformance, SimulatedClock } from "agent-persistence/testing";

// The suite for logs on Node's own SQLite, which Node has from 22.13 on.
const major = Number(process.versions.node.split(".")[0]);
if (major < 22) {
  console.log("node:sqlite: not in this Node");
  process.exit(0);
}
const { DatabaseSync } = await import("node:sqlite");
const home = mkdtempSync(join(tmpdir(), "agent-persistence-smoke-"));

/** A process of which nothing is known but that it runs. */
const processIdentity = {
  host: "smoke",
  bootId: "boot",
  pidNamespace: "",
  processId: 1,
  processStart: "",
  isRunning: () => true,
};

let files = 0;
let awake = [];
let opened = [];

function make() {
  const path = join(home, `${++files}.db`);
  awake = [];
  const connect = () => {
    const database = new DatabaseSync(path);
    opened.push(database);
    return database;
  };
  const reopen = () => {
    const clock = new SimulatedClock();
    awake.push(clock);
    return new SqlitePersistenceStorageProvider({ database: connect(), clock, processIdentity }).log;
  };
  const alter = (table, column, condition, ...values) => {
    const beside = connect();
    const where = `WHERE ${condition.replace("KEY", "(SELECT key FROM agent_persistence_agents WHERE id = ?)")}`;
    const { bytes } = beside.prepare(`SELECT ${column} AS bytes FROM ${table} ${where}`).get(...values);
    bytes[bytes.length >> 1] ^= 1;
    beside.prepare(`UPDATE ${table} SET ${column} = ? ${where}`).run(bytes, ...values);
  };
  return {
    log: reopen(),
    reopen,
    advance: async (ms) => {
      for (const clock of awake) clock.advance(ms);
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    },
    silence: () => void (awake = []),
    alter: (agentId, position) =>
      alter("agent_persistence_appends", "line", "number = KEY << 30 | ?", JSON.stringify(agentId), position),
    alterBlob: (agentId, reference) =>
      alter("agent_persistence_blobs", "bytes", "agent = KEY AND reference = ?", JSON.stringify(agentId), reference),
    loseAnswer: { leftOut: "the suite loses answers on libsql, in the package's own tests" },
  };
}

try {
  for (const test of recordLogConformance) {
    await test.run(make, () => {});
    for (const database of opened) database.close();
    opened = [];
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
assert.ok(files >= recordLogConformance.length);
console.log(`node:sqlite: passes the ${recordLogConformance.length} tests of a log`);
