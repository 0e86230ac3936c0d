import { describe, expect, it } from "vitest";
import { NoRecordLog } from "../../src/storage/none/NoPersistenceStorageProvider.ts";
import { recordLogConformance, type RecordLogHarness } from "../../src/testing.ts";
import { failuresOf, illToldFailures } from "./failuresOf.ts";
import { inMemory, logsUnderTest } from "./log/logsUnderTest.ts";

for (const [name, make] of Object.entries(logsUnderTest)) {
  describe(`a log ${name}`, () => {
    it.each(recordLogConformance)("$name", (test) => test.run(make));
  });
}

describe("the suite for logs", () => {
  it("names each of its tests once", () => {
    const names = recordLogConformance.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it("says that a log which keeps nothing does not conform", async () => {
    const keepingNothing = (): RecordLogHarness => ({ ...inMemory(), log: new NoRecordLog() });
    const failures = await failuresOf(recordLogConformance, keepingNothing);
    expect([...failures.keys()]).toContain("numbers appends from 1 without gaps");
    expect(failures.size).toBeGreaterThan(recordLogConformance.length / 2);
    expect(illToldFailures(failures)).toEqual([]);
  });
});
