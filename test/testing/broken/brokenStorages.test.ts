import { describe, expect, it } from "vitest";
import {
  persistenceStorageProviderConformance,
  recordLogConformance,
  type ConformanceTest,
} from "../../../src/testing.ts";
import { brokenBlobs } from "./brokenBlobs.ts";
import { brokenLists } from "./brokenLists.ts";
import { brokenLogs } from "./brokenLogs.ts";
import { brokenOwnerships } from "./brokenOwnerships.ts";
import { brokenProviders } from "./brokenProviders.ts";
import { brokenReceivers } from "./brokenReceivers.ts";
import { brokenTables } from "./brokenTables.ts";
import { inMemory } from "../conformance/logsUnderTest.ts";
import { failuresOf, illToldFailures } from "../failuresOf.ts";
import { wholeSoak } from "../../soak/cases.ts";

describe("the suite for providers rejects a provider that", () => {
  it.each(brokenProviders)("$mistake", ({ caughtBy, make }) =>
    expectCaught(persistenceStorageProviderConformance, caughtBy, make),
  );
});

describe("the suite for logs rejects a log that", () => {
  it.each([...brokenLogs, ...brokenLists, ...brokenBlobs, ...brokenOwnerships, ...brokenReceivers, ...brokenTables])(
    "$mistake",
    ({ caughtBy, make }) =>
      expectCaught(recordLogConformance, caughtBy, () => {
        const made = make();
        return "log" in made ? made : { ...inMemory(), log: made };
      }),
  );
});

/** Runs the test that must fail; in a whole soak the others too, which may fail but only as a suite fails. */
async function expectCaught<Made>(
  suite: readonly ConformanceTest<Made>[],
  caughtBy: string,
  make: () => Made,
): Promise<void> {
  const failures = await failuresOf(wholeSoak ? suite : suite.filter(({ name }) => name === caughtBy), make);
  expect([...failures.keys()]).toContain(caughtBy);
  expect(illToldFailures(failures)).toEqual([]);
}
