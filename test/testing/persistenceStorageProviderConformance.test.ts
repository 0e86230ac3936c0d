import { describe, expect, it } from "vitest";
import { NoPersistenceStorageProvider } from "../../src/storage/none/NoPersistenceStorageProvider.ts";
import { persistenceStorageProviderConformance } from "../../src/testing.ts";
import { failuresOf, illToldFailures } from "./failuresOf.ts";
import { providersUnderTest } from "./providersUnderTest.ts";
import { TextProvider } from "./TextProvider.ts";

for (const [name, make] of Object.entries(providersUnderTest)) {
  describe(`a provider ${name}`, () => {
    it.each(persistenceStorageProviderConformance)("$name", (test) => test.run(make));
  });
}

describe("the suite for providers", () => {
  it("accepts a provider without a harness, and reports that it was not reopened", async () => {
    const told: string[] = [];
    for (const test of persistenceStorageProviderConformance)
      await test.run(
        () => new TextProvider(),
        (part) => told.push(part),
      );
    expect(new Set(told)).toEqual(new Set(["reopen: the harness has none"]));
  });

  it("uses each test name once", () => {
    const names = persistenceStorageProviderConformance.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it("fails a storage that keeps no data", async () => {
    const failures = await failuresOf(persistenceStorageProviderConformance, () => new NoPersistenceStorageProvider());
    expect([...failures.keys()]).toContain("keeps every field of a checkpoint");
    expect(failures.size).toBeGreaterThan(persistenceStorageProviderConformance.length / 2);
    expect(illToldFailures(failures)).toEqual([]);
  });

  it("rethrows the error of a provider that cannot be created", async () => {
    const unmade = new RangeError("no database");
    const run = persistenceStorageProviderConformance[0]?.run(() => Promise.reject(unmade));
    await expect(run).rejects.toBe(unmade);
  });
});
