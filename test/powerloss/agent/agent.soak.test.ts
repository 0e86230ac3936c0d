import { SimulatedFileSystem } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { AgentStage } from "./AgentStage.ts";
import { allBooked } from "./bookingAgent.ts";
import { Crashes } from "../Crashes.ts";
import { exploreAgent } from "./exploreAgent.ts";
import { agentThoroughness } from "../thoroughness.ts";
import { cases } from "../../soak/cases.ts";

describe("an agent with effects and a rollback, after every crash", () => {
  it.each(["idempotent", "reversible"] as const)(
    "does everything once, or stops if it cannot know: %s tools",
    async (effect) => {
      const stage = new AgentStage(new SimulatedFileSystem(), { effect });
      await stage.play();
      expect([...stage.world.standing.values()].sort()).toEqual(allBooked);
      const crashes = new Crashes(agentThoroughness);
      await exploreAgent(stage, crashes);
      expect(crashes.distinct).toBeGreaterThan(cases(12, 350));
    },
  );
});
