import { SimulatedFileSystem } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { AgentStage } from "./AgentStage.ts";
import { brokenAgents } from "./brokenAgents.ts";
import { violationOf } from "./caught.ts";
import { Crashes } from "./Crashes.ts";
import { exploreAgent } from "./exploreAgent.ts";

describe("an agent on a storage that is broken on purpose is caught", () => {
  it.each(brokenAgents)("$name", async ({ variant, caughtBy }) => {
    const violation = await violationOf(async () => {
      const stage = new AgentStage(new SimulatedFileSystem(), { ...variant, effect: "idempotent" });
      await stage.play();
      await exploreAgent(stage, new Crashes({ samples: 0, nestEvery: 0, nestedMoments: 0, stride: 3, seed: 1 }));
    });
    expect(violation?.check).toBe(caughtBy);
  });
});
