import { persistence } from "agent-persistence";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { Inbox } from "../../../src/journal/inbox/Inbox.ts";
import { eventStorages } from "../waiting/events/eventStorages.ts";
import { asking } from "../support/asking.ts";
import { durableAgent } from "../support/durableAgent.ts";

const receiving = asking(async (input, context) => {
  if (input === "skip") return input;
  const paid = await context.receive("paid", { schema: z.string(), timeoutMs: 0 });
  return paid ?? "nothing";
});

describe.each(eventStorages)("$name: an agent whose id is too long for an inbox", (storage) => {
  it.each(["deleteAgent", "prune"] as const)("can be removed by %s", async (way) => {
    const agent = durableAgent(receiving, (await storage.open())());
    const agentId = "a".repeat(1024);
    await agent.run("skip", { agentId });
    if (way === "deleteAgent") await persistence(agent).deleteAgent(agentId);
    else
      expect(await persistence(agent).prune({ agentId, policy: { completedDays: 0 } })).toMatchObject({ failed: [] });
    expect(await persistence(agent).agent(agentId).getCheckpoints()).toEqual([]);
  });
});

describe.each(eventStorages)("$name: an agent whose id is too long for events", (storage) => {
  it("rejects events with an error that names the longest id", async () => {
    const agent = durableAgent(receiving, (await storage.open())());
    const ids = ["é".repeat(509), "é".repeat(509) + "x"] as const;
    await persistence(agent).agent(ids[0]).send("paid", "one");
    const error = { code: "invalid_agent_id", agentId: ids[1], message: expect.stringContaining("1,018 bytes") };
    await expect(persistence(agent).agent(ids[1]).send("paid", "one")).rejects.toMatchObject(error);
    await expect(agent.run("receive", { agentId: ids[1] })).rejects.toMatchObject(error);
  });
});

describe.each(eventStorages)("$name: an agent whose deletion a crash cut short", (storage) => {
  it.each(["deleteAgent", "prune"] as const)("by %s leaves no event to the next agent with its id", async (way) => {
    const provider = (await storage.open())();
    const agent = durableAgent(receiving, provider);
    await agent.run("skip", { agentId: "a" });
    await persistence(agent).agent("a").send("paid", "one");
    const remove = async () => {
      if (way === "deleteAgent") return persistence(agent).deleteAgent("a");
      const report = await persistence(agent).prune({ agentId: "a", policy: { completedDays: 0 } });
      for (const { error } of report.failed) throw error;
    };
    const crash = new Error("killed");
    const drop = vi.spyOn(Inbox.of(provider), "drop").mockRejectedValue(crash);
    await expect(remove()).rejects.toBe(crash);
    drop.mockRestore();
    expect(await persistence(agent).agent("a").getCheckpoints()).not.toEqual([]);
    await remove();
    expect(await agent.run("receive", { agentId: "a" })).toMatchObject({ output: "nothing" });
  });
});
