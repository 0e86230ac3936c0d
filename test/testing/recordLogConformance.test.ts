import { describe, expect, it } from "vitest";
import { FileRecordLog } from "../../src/file.ts";
import { MemoryRecordLog } from "../../src/storage/memory/MemoryRecordLog.ts";
import { NoRecordLog } from "../../src/storage/none/NoPersistenceStorageProvider.ts";
import { recordLogConformance, SimulatedClock, type RecordLogHarness } from "../../src/testing.ts";
import { testDirectory } from "../storage/file/support/fixture.ts";
import { failuresOf, illToldFailures } from "./failuresOf.ts";

describe("a log in memory", () => {
  it.each(recordLogConformance)("$name", (test) => test.run(() => new MemoryRecordLog()));
});

describe("a log in files", () => {
  it.each(recordLogConformance)("$name", (test) => test.run(inFiles));
});

describe("the suite for logs", () => {
  it("names each of its tests once", () => {
    const names = recordLogConformance.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it("says that a log which keeps nothing does not conform", async () => {
    const failures = await failuresOf(recordLogConformance, () => new NoRecordLog());
    expect([...failures.keys()]).toContain("numbers appends from 1 without gaps");
    expect(failures.size).toBeGreaterThan(recordLogConformance.length / 2);
    expect(illToldFailures(failures)).toEqual([]);
  });
});

async function inFiles(): Promise<RecordLogHarness> {
  const directory = await testDirectory();
  const clock = new SimulatedClock();
  const reopen = () => new FileRecordLog({ directory, clock });
  return { log: reopen(), reopen, advance: (ms) => clock.advance(ms) };
}
