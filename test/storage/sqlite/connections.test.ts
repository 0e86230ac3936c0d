import { join } from "node:path";
import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import { processOwner, type RecordLog } from "agent-persistence/storage";
import { expect, it } from "vitest";
import { appendText, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { prunedRecord } from "../../../src/testing/conformance/log/removalTests.ts";
import { collect, testDirectory } from "../file/support/fixture.ts";
import { libsql } from "./libsql.ts";

function logOn(path: string): RecordLog {
  return new SqlitePersistenceStorageProvider({ database: libsql(path) }).log;
}

it("a reader sees the log before or after a pruning by another connection", async () => {
  const path = join(await testDirectory(), "agents.db");
  const [log, reader] = [logOn(path), logOn(path)];
  const owned = await log.open("a", processOwner());
  // Three pages.
  for (let n = 1; n <= 450; n++) await appendText(owned, "x");
  const before = await collect(reader.read("a"));
  const seen: number[] = [];
  for await (const { position } of reader.read("a")) {
    if (seen.push(position) !== 1) continue;
    await owned.append({ id: "pruning", records: [prunedRecord(before, 2, 440)] }, 450);
    await owned.prune();
  }
  const after = [1, ...Array.from({ length: 11 }, (_, n) => 441 + n)];
  expect([after, before.map(({ position }) => position)]).toContainEqual(seen);
  expect((await collect(reader.read("a"))).map(({ position }) => position)).toEqual(after);
  await Promise.all([log.close(), reader.close()]);
});

it("two databases of one process are independent", async () => {
  const directory = await testDirectory();
  const logs = ["one.db", "other.db"].map((file) => logOn(join(directory, file)));
  for (const log of logs) {
    const owned = await log.open("a", processOwner());
    expect([owned.generation, owned.position]).toEqual([1, 0]);
    await appendText(owned, "x", { summary: exampleSummary("a", "queued") });
    await log.blobs.put("a", 1, new Uint8Array([1]));
  }
  const [one, other] = logs as [RecordLog, RecordLog];
  await one.close();
  expect(await other.owner("a")).toMatchObject({ state: "alive" });
  const owned = await logOn(join(directory, "one.db")).open("a", processOwner());
  await owned.drop();
  expect(await collect(other.read("a"))).toHaveLength(1);
  expect(await collect(other.list())).toHaveLength(1);
  await other.close();
});
