import { SimulatedFileSystem } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { Crashes } from "../Crashes.ts";
import { exploreStore } from "./exploreStore.ts";
import { Stage } from "./Stage.ts";
import { largeSegments, storeScenarios } from "./storeScenarios.ts";
import { thoroughness } from "../thoroughness.ts";
import { cases } from "../../soak/cases.ts";
import { twoOwners } from "./twoOwners.ts";

const scenarios = [...storeScenarios, ...twoOwners, largeSegments];

describe("the file storage, after every crash", () => {
  const began = performance.now();
  let distinct = 0;

  it.each(scenarios)("keeps acknowledged data and continues: $name", async ({ play }) => {
    const stage = new Stage(new SimulatedFileSystem());
    await play(stage);
    const crashes = new Crashes(thoroughness);
    await exploreStore(stage, crashes);
    distinct += crashes.distinct;
  });

  it("is tested in enough different states", () => {
    console.info(`${distinct} different crash states in ${Math.round((performance.now() - began) / 1000)} s`);
    expect(distinct).toBeGreaterThan(cases(120, 6_000));
  });
});
