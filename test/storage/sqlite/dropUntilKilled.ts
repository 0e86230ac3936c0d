import { SqlitePersistenceStorageProvider, type SqliteDatabase } from "agent-persistence/sqlite";
import { processOwner } from "agent-persistence/storage";
import Database from "libsql";
import { appendText, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";

// Drops an agent of three appends, and kills itself before a statement of the drop.
const [, , path = "", at = ""] = process.argv;
let left = Infinity;

function step<Result>(call: () => Result): Result {
  if (left-- === 0) process.kill(process.pid, "SIGKILL");
  return call();
}

const opened: SqliteDatabase = new Database(path);
const database: SqliteDatabase = {
  exec: (sql) => step(() => opened.exec(sql)),
  prepare: (sql) => {
    const statement = opened.prepare(sql);
    return {
      run: (...values) => step(() => statement.run(...values)),
      get: (...values) => step(() => statement.get(...values)),
      all: (...values) => step(() => statement.all(...values)),
    };
  },
};
const { log } = new SqlitePersistenceStorageProvider({ database });
const owned = await log.open("a", processOwner());
for (const text of ["1", "2", "3"]) await appendText(owned, text, { summary: exampleSummary("a", "queued") });
await log.blobs.put("a", owned.generation, new Uint8Array([1]));
left = Number(at);
await owned.drop();
