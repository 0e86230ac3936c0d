import { describe, expect, it } from "vitest";
import { brokenByCrashes, brokenByFaults, brokenByTwoOwners } from "./brokenProtocols.ts";
import { caughtInCrashes, violationOf } from "./caught.ts";
import { Crashes } from "../Crashes.ts";
import { exploreFaults } from "./exploreFaults.ts";
import { storeScenarios } from "./storeScenarios.ts";
import { twoOwners } from "./twoOwners.ts";
import { soak } from "../../soak/cases.ts";

const kinds = ["lying sync", "short write", "ENOSPC"] as const;

/** What the checks above are worth: each mistake that a storage on files can make must be noticed by them. */
describe("the crash tests detect a broken protocol", () => {
  it.each(soak ? brokenByCrashes : brokenByCrashes.slice(0, 1))("$name", async ({ variant, caughtBy, scenario }) => {
    const scenarios = storeScenarios.filter(({ name }) => name === (scenario ?? name));
    expect(caughtBy).toContain((await caughtInCrashes(variant, scenarios))?.check);
  });

  it.each(soak ? brokenByTwoOwners : [])("$name", async ({ variant, caughtBy, scenario }) => {
    const scenarios = twoOwners.filter(({ name }) => name === (scenario ?? name));
    expect(caughtBy).toContain((await caughtInCrashes(variant, scenarios))?.check);
  });

  it.each(soak ? brokenByFaults : [])("$name", async ({ variant, caughtBy }) => {
    const crashes = new Crashes({ samples: 2, nestEvery: 0, nestedMoments: 2, seed: 1 });
    const violation = await violationOf(async () => {
      for (const kind of kinds) await exploreFaults(variant, crashes, { kind });
    });
    expect(caughtBy).toContain(violation?.check);
  });
});
