import { SimulatedFileSystem } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { AgentStage } from "./AgentStage.ts";
import { brokenAgents } from "./brokenAgents.ts";
import { violationOf } from "../store/caught.ts";
import { Crashes } from "../Crashes.ts";
import { exploreAgent } from "./exploreAgent.ts";

describe("the crash tests detect an agent on a broken storage", () => {
  it.each(brokenAgents)("$name", async ({ variant, caughtBy }) => {
    const violation = await violationOf(async () => {
      const stage = new AgentStage(new SimulatedFileSystem(), { ...variant, effect: "idempotent" });
      await stage.play();
      // Moments at random find what is broken late as soon as what is broken early.
      const crashes = new Crashes({ samples: 0, nestEvery: 0, nestedMoments: 200, seed: 1 });
      await exploreAgent(stage, crashes, { nested: false });
    });
    expect(caughtBy).toContain(violation?.check);
  });
});
