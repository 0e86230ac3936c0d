import { describe, expect, it } from "vitest";
import { MemoryRecordLog } from "../../src/storage/memory/MemoryRecordLog.ts";
import { NoRecordLog } from "../../src/storage/none/NoPersistenceStorageProvider.ts";
import { recordLogConformance, type RecordLogHarness } from "../../src/testing.ts";
import { failuresOf, illToldFailures } from "./failuresOf.ts";
import { engines } from "../storage/engines/engines.ts";
import { MemoryTable } from "../storage/table/MemoryTable.ts";
import { inDatabase, inMemory, inTable } from "./conformance/logsUnderTest.ts";

/** A table without the optional methods for lines of another log. */
class NotReceivingTable extends MemoryTable {
  override stage = undefined as never;
  override publish = undefined as never;
}

const logsUnderTest: Readonly<Record<string, () => RecordLogHarness | Promise<RecordLogHarness>>> = {
  ...Object.fromEntries(engines.map(({ name, harness }) => [name, harness])),
  "in a database": () => inDatabase(),
  "in a table": () => inTable(),
  "in a table without stage and publish": () => inTable(new NotReceivingTable()),
};

for (const [name, make] of Object.entries(logsUnderTest)) {
  describe(`a log ${name}`, () => {
    it.each(recordLogConformance)("$name", (test) => test.run(make, leftOutBy(name)));
  });
}

describe("the suite for logs", () => {
  it("uses each test name once", () => {
    const names = recordLogConformance.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it("reports the omitted parts of a harness with the reason", async () => {
    const { alterBlob: _alterBlob, ...harness } = inMemory();
    const told = new Set<string>();
    const make = (): RecordLogHarness => ({ ...harness, log: new MemoryRecordLog(), alter: { leftOut: "not today" } });
    for (const test of recordLogConformance) await test.run(make, (part) => told.add(part));
    expect([...told].toSorted()).toEqual([
      'a second process: capabilities.processes is "one"',
      "a table: the log is not over a LogTable",
      "advance: a log in memory looks at no clock",
      "alter: not today",
      "alterBlob: the harness has none",
      "createMany: the log has no such method",
      "loseAnswer: a write to memory has no answer",
      "reopen: what is in memory ends with its process",
      "silence: an owner in memory lives as long as its process",
    ]);
  });

  it("rethrows errors of onLeftOut", async () => {
    const skipped = new RangeError("skipped");
    const all = recordLogConformance.map((test) =>
      test.run(inMemory, () => {
        throw skipped;
      }),
    );
    const reasons = (await Promise.allSettled(all)).flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
    expect(new Set(reasons)).toEqual(new Set([skipped]));
  });

  it("fails a log that keeps no data", async () => {
    const keepingNothing = (): RecordLogHarness => ({ ...inMemory(), log: new NoRecordLog() });
    const failures = await failuresOf(recordLogConformance, keepingNothing);
    expect([...failures.keys()]).toContain("numbers appends from 1 without gaps");
    expect(failures.size).toBeGreaterThan(recordLogConformance.length / 2);
    expect(illToldFailures(failures)).toEqual([]);
  });
});

const noTable = "a table: the log is not over a LogTable";
const noReceive = "receive: the log has no such method";
const noCreateMany = "createMany: the log has no such method";

/** What logs may leave out, beside those in memory. */
const leftOutParts: Readonly<Record<string, readonly string[]>> = {
  "in files": [noTable, noCreateMany],
  "in a database": [
    noTable,
    noReceive,
    noCreateMany,
    ...["encodedAppends", "blobs.copy", "watch"].map((part) => `${part}: the log has no such method`),
  ],
  "in a table without stage and publish": [noReceive, noCreateMany],
  "in DynamoDB": [noCreateMany],
};

/** A log in memory cannot do all; the others can, and what they leave out is a mistake. */
function leftOutBy(name: string): (part: string) => void {
  return (part) => {
    if (leftOutParts[name]?.includes(part)) return;
    if (name !== "in memory" && !part.startsWith("narrows")) throw new Error(`a log ${name} leaves out ${part}`);
  };
}
