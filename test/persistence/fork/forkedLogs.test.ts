import { type AgentContext, persistence } from "agent-persistence";
import type { LogPersistenceStorageProvider, RecordLog } from "agent-persistence/storage";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { asking } from "../support/asking.ts";
import { chain } from "../support/calledAgents.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const question = { prompt: "ok?", schema: z.boolean() };

describe.each(logStorages)("$name: a fork", (storage) => {
  it("of a pruned log keeps the remaining checkpoints, and can be pruned", async () => {
    const world = new World();
    const book = world.adder("book");
    const nodes = Object.fromEntries(
      ["one", "two", "three", "four", "five"].map((name) => [
        name,
        async (text: string, { tools, llm }: AgentContext) => {
          llm.append({ role: "user", content: name });
          await tools.call(book, { item: name });
          return `${text} ${name}`;
        },
      ]),
    );
    const built = chain("five", {
      ...nodes,
      ask: async (text, context) => `${text} ${await context.requestInput(question)}`,
    });
    const opened = await storage.open();
    const retention = { maxCheckpoints: 3 };
    const agent = () => durableAgent(built, opened(), { tools: [book], retention });
    await agent().run("go");
    await persistence(agent()).prune();
    const durable = persistence(agent()).agent("a");
    const left = await durable.getCheckpoints();
    expect(left.length).toBeLessThan(6);
    const head = await durable.fork("head");
    expect((await head.getCheckpoints()).slice(0, left.length).map(({ checkpointId }) => checkpointId)).toEqual(
      left.map(({ checkpointId }) => checkpointId),
    );
    for (const [at, { checkpointId }] of left.entries()) {
      const fork = await durable.fork(`from-${at}`, { checkpointId });
      await agent().resume({ agentId: fork.agentId });
      const [request] = await fork.getRequests();
      const answers = { [request?.requestId ?? ""]: true };
      const end = await agent().resume({ agentId: fork.agentId, answers });
      expect(end).toMatchObject({ output: "go one two three four five true" });
      expect((await fork.getMessages()).map(({ content }) => content)).toEqual(["one", "two", "three", "four", "five"]);
    }
    await persistence(agent()).prune();
    const [request] = await head.getRequests();
    const answers = { [request?.requestId ?? ""]: false };
    expect(await agent().resume({ agentId: "head", answers })).toMatchObject({
      output: "go one two three four five false",
    });
    const report = await head.rollbackToCheckpoint((await head.getCheckpoints())[0]?.checkpointId ?? "");
    expect(report.skipped.every(({ owner }) => owner === "a")).toBe(true);
    expect(report.irreversible).toEqual([]);
  });

  it("that starts before a checkpoint id was reused finds the earlier checkpoint under both ids", async () => {
    const opened = await storage.open();
    const built = asking(async (input, context) => {
      await persistence(context).createCheckpoint({ checkpointId: "mine" });
      return input;
    });
    const agent = () => durableAgent(built, opened());
    const durable = persistence(agent()).agent("a");
    await agent().run("one");
    const [first, second] = await durable.getCheckpoints();
    await agent().run("two");
    const earlier = (await durable.getCheckpoints())[1]?.checkpointId ?? "none";
    expect([second?.checkpointId, earlier]).toEqual(["mine", expect.stringMatching(/^\d+-\d+$/)]);
    const fork = await durable.fork("b", { checkpointId: earlier });
    for (const id of ["mine", earlier]) {
      expect(await fork.validateCheckpoint(id)).toMatchObject({ checkpointId: "mine", valid: true });
      await fork.nameCheckpoint(id, `name of ${id}`);
      await (await fork.fork(`of ${id}`, { checkpointId: id })).rollbackToCheckpoint(id);
    }
    await expect(fork.nameCheckpoint(`${earlier}0`, "other")).rejects.toMatchObject({ code: "checkpoint_not_found" });
    expect(await fork.rollbackToCheckpoint(first?.checkpointId ?? "")).toMatchObject({ reverted: [] });
  });

  it("of one agent under one id is made once by ten calls at the same time", async () => {
    const opened = await storage.open();
    const agent = () =>
      durableAgent(
        asking(async (input, context) => `${input} ${await context.requestInput(question)}`),
        opened(),
      );
    await agent().run("go");
    const forks = await Promise.allSettled(Array.from({ length: 10 }, () => persistence(agent()).agent("a").fork("b")));
    expect(forks.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const fork of forks)
      if (fork.status === "rejected")
        expect(["agent_exists", "agent_busy"]).toContain((fork.reason as { code: string }).code);
    const [request] = await persistence(agent()).agent("b").getRequests();
    const answers = { [request?.requestId ?? ""]: true };
    expect(await agent().resume({ agentId: "b", answers })).toMatchObject({ output: "go true" });
  });

  it("whose copy fails rejects with that failure, even if the log cannot be read afterwards", async () => {
    const provider = (await storage.open())() as LogPersistenceStorageProvider;
    const agent = durableAgent(
      asking(async (input) => input),
      provider,
    );
    await agent.run("go");
    const { log } = provider;
    vi.spyOn(log as Required<RecordLog>, "receive").mockImplementation(async () => {
      vi.spyOn(log, "read").mockImplementation(() => {
        throw new Error("unreadable");
      });
      throw new Error("full");
    });
    await expect(persistence(agent).agent("a").fork("b")).rejects.toThrow("full");
  });
});
