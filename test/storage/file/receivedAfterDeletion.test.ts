import { expect, it } from "vitest";
import type { FileRecordLog } from "../../../src/storage/file/FileRecordLog.ts";
import type { OwnedLog } from "../../../src/storage/RecordLog.ts";
import {
  append,
  collect,
  message,
  nextOwner,
  summaryOf,
  testDirectory,
  testLog,
  TestMachine,
} from "./support/fixture.ts";

/** Copies the log of agent "b", which has two appends, to the deleted agent "a", whose log ended at the same position. */
async function receive(log: FileRecordLog): Promise<OwnedLog> {
  const old = await log.open("a", nextOwner());
  for (const text of ["one", "two", "three"]) await append(old, text);
  await old.drop();
  await old.release();
  const source = await log.open("b", nextOwner());
  for (const text of ["one", "two"]) await append(source, text);
  await source.release();
  const appends = log.encodedAppends("b");
  return log.receive("a", nextOwner(), { generation: 1, appends }, ({ generation, position }) => ({
    id: `${generation}-${position + 1}`,
    records: [message("three")],
    summary: summaryOf("a", "queued"),
  }));
}

it.each([true, false])("a log received after a deletion is whole, released: %s", async (released) => {
  const directory = await testDirectory();
  const machine = new TestMachine();
  const identity = machine.start();
  const owned = await receive(testLog(directory, { processIdentity: identity }));
  expect(owned.position).toBe(3);
  if (released) await owned.release();
  machine.end(identity);
  const log = testLog(directory, { processIdentity: machine.start() });
  expect(await collect(log.read("a"))).toHaveLength(3);
  expect((await log.open("a", nextOwner())).position).toBe(3);
  expect(await collect(log.list())).toMatchObject([{ agentId: "a", status: "queued" }]);
});
