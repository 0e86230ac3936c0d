import {
  NoPersistenceStorageProvider,
  persistence,
  strategy,
  type AgentContext,
  type AgentCheckpointData,
  type PersistenceStorageProvider,
} from "agent-persistence";
import { crashAfter, SimulatedCrashError } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { durableAgent, Fault, Stopped } from "../support/durableAgent.ts";
import { checkpointsOf } from "../support/stored.ts";
import { logStorages, storages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const echo = (world: World, fault?: Fault) => {
  const book = world.adder("book");
  const graph = strategy<string, string>("s", (g) => {
    const first = g.node("first", async (input: string, context: AgentContext) => {
      context.llm.append({ role: "user", content: input });
      return (await context.tools.call(book, { item: input })).made;
    });
    const second = g.node("second", (_input: string, context) => {
      fault?.strike();
      return context.llm.messages.map(({ content }) => (typeof content === "string" ? content : "")).join();
    });
    g.edge(g.start, first);
    g.edge(first, second);
    g.edge(second, g.finish);
  });
  return { graph, options: { tools: [book] } };
};

describe.each(storages)("$name: agents of one definition", (storage) => {
  it("run independently, a hundred at the same time", async () => {
    const opened = await storage.open();
    const world = new World();
    const { graph, options } = echo(world);
    const agent = durableAgent(graph, opened(), options);
    const ids = Array.from({ length: 100 }, (_, at) => `agent ${at}`);
    const results = await Promise.all(ids.map((agentId) => agent.run(`in ${agentId}`, { agentId })));
    expect(results.map((result) => result.status === "completed" && result.output)).toEqual(
      ids.map((id) => `in ${id}`),
    );
    expect(new Set(world.executed).size).toBe(100);
    const histories = await Promise.all(ids.map((id) => persistence(agent).agent(id).getCheckpoints()));
    expect(histories.map((history) => history.map(({ nodeId }) => nodeId))).toEqual(
      ids.map(() => ["first", "second", "finish"]),
    );
  });

  it("stay separate when both crash and one is rolled back", async () => {
    const opened = await storage.open();
    const [world, fault] = [new World(), new Fault()];
    const { graph, options } = echo(world, fault);
    const agent = durableAgent(graph, opened(), options);
    await expect(agent.run("one", { agentId: "1" })).rejects.toBeInstanceOf(Stopped);
    await expect(agent.run("two", { agentId: "2" })).rejects.toBeInstanceOf(Stopped);
    const [first] = await persistence(agent).agent("1").getCheckpoints();
    const before = await persistence(agent).agent("2").getCheckpoints();
    await persistence(agent)
      .agent("1")
      .rollbackToCheckpoint(first?.checkpointId ?? "");
    expect(await persistence(agent).agent("2").getCheckpoints()).toEqual(before);
    fault.repair();
    expect(await agent.resume({ agentId: "2" })).toMatchObject({ output: "two" });
    expect(await agent.resume({ agentId: "1" })).toMatchObject({ output: "one" });
    expect(world.done).toEqual(["book one", "book two", "book one"]);
  });

  it("return the newest few checkpoints of a node in order", async () => {
    const opened = await storage.open();
    const { graph, options } = echo(new World());
    const agent = durableAgent(graph, opened(), options);
    await agent.run("a");
    await agent.run("b");
    const versions = async (
      filter: Parameters<ReturnType<ReturnType<typeof persistence>["agent"]>["getCheckpoints"]>[0],
    ) => (await persistence(agent).agent().getCheckpoints(filter)).map(({ version }) => version);
    expect(await versions({})).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await versions({ nodeId: "second" })).toEqual([2, 5]);
    expect(await versions({ afterVersion: 3, limit: 2 })).toEqual([5, 6]);
    expect(await versions({ nodeId: "second", limit: 1 })).toEqual([5]);
  });
});

describe.each(logStorages)("$name: a running agent", (storage) => {
  it("is busy for all others, and free after the run has rejected", async () => {
    const opened = await storage.open();
    const refusals: unknown[] = [];
    const graph = strategy<string, string>("s", (g) => {
      const only = g.node("only", async (input: string) => {
        const outside = persistence(agent).agent();
        for (const verb of [() => agent.run("x"), () => agent.resume(), () => outside.rollbackToLatestCheckpoint()])
          refusals.push(await verb().catch((error: unknown) => error));
        if (input === "fail") throw new Stopped();
        return input;
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    const agent = durableAgent(graph, opened());
    await expect(agent.run("fail")).rejects.toBeInstanceOf(Stopped);
    expect(refusals).toMatchObject([{ code: "agent_busy" }, { code: "agent_busy" }, { code: "agent_busy" }]);
    await expect(agent.run("fail")).rejects.toBeInstanceOf(Stopped);
  });
});

describe("a storage that keeps nothing", () => {
  it("runs agents, returns the checkpoints that it does not store, and refuses every rollback", async () => {
    const seen: unknown[] = [];
    const graph = strategy<string, string>("s", (g) => {
      const only = g.node("only", async (input: string, context: AgentContext) => {
        const p = persistence(context);
        seen.push(await p.createCheckpoint({ nodeId: "only", lastInput: "again", checkpointId: "mine" }));
        for (const back of [() => p.rollbackToCheckpoint("mine"), () => p.rollbackToLatestCheckpoint()])
          seen.push(await back().catch((error: unknown) => error));
        seen.push(await p.getCheckpoints(), await p.getLatestCheckpoint());
        return input;
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    const agent = durableAgent(graph, new NoPersistenceStorageProvider());
    expect(await agent.run("go")).toMatchObject({ output: "go" });
    expect(seen).toMatchObject([
      { checkpointId: "mine", nodeId: "only", lastInput: "again" },
      { code: "checkpoint_not_found", message: expect.stringContaining("a storage that keeps data") as string },
      { code: "checkpoint_not_found", message: expect.stringContaining("createCheckpoint()") as string },
      [],
      undefined,
    ]);
    await expect(persistence(agent).agent().rollbackToLatestCheckpoint()).rejects.toMatchObject({
      code: "checkpoint_not_found",
    });
    await expect(agent.resume()).rejects.toMatchObject({ code: "nothing_to_resume" });
  });
});

describe.each(storages)("$name: a failing storage", (storage) => {
  it("makes the run fail at the save, and no checkpoint is reported as saved", async () => {
    for (let saves = 0; saves < 3; saves++) {
      const opened = await storage.open();
      const world = new World();
      const { graph, options } = echo(world);
      const outcome = await durableAgent(graph, crashAfter(opened(), saves), options)
        .run("go")
        .catch((error: Error) => (error.cause instanceof Error ? error.cause : error));
      expect(outcome).toBeInstanceOf(SimulatedCrashError);
      const kept = await checkpointsOf(durableAgent(graph, opened(), options));
      expect(kept.length).toBeLessThanOrEqual(saves);
    }
  });
});

describe("a three-method provider that rejects", () => {
  it("is named in the error with the failed method", async () => {
    const broken: PersistenceStorageProvider = {
      getCheckpoints: async (): Promise<AgentCheckpointData[]> => [],
      getLatestCheckpoint: async () => undefined,
      saveCheckpoint: async () => {
        throw new RangeError("disk full");
      },
    };
    const { graph } = echo(new World());
    const outcome = await durableAgent(graph, broken)
      .run("go")
      .catch((error: unknown) => error);
    expect(outcome).toMatchObject({
      code: "storage_failed",
      cause: { message: "disk full" },
      message: 'saveCheckpoint failed on agent "a" (unavailable). Fix the cause, and resume the agent: disk full',
    });
  });
});
