import {
  type AIAgent,
  persistence,
  type PersistenceStorageProvider,
  RollbackToolRegistry,
  strategy,
} from "agent-persistence";
import { crashAfter, SimulatedCrashError } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

describe.each(logStorages)("$name: a run started by another strategy", (storage) => {
  /** The first deployment books a room, and its process ends; the second has a node more. */
  async function deployed() {
    const opened = await storage.open();
    const world = new World();
    const book = world.adder("book");
    const registry = new RollbackToolRegistry().registerRollback(
      book,
      ({ item }, { toolCallId }) => world.remove(toolCallId, item),
      { effect: "idempotent" },
    );
    const fault = new Fault();
    const before = strategy<string, string>("s", (g) => {
      const first = g.node("first", async (input: string, { tools }) => {
        await tools.call(book, { item: input });
        return input;
      });
      const second = g.node("second", (input: string) => (fault.strike(), `${input}: old`));
      g.edge(g.start, first);
      g.edge(first, second);
      g.edge(second, g.finish);
    });
    const after = strategy<string, string>("s", (g) => {
      const first = g.node("first", async (input: string, { tools }) => {
        await tools.call(book, { item: input });
        return input;
      });
      const check = g.node("check", (input: string, { llm }) => `${input}: new, ${llm.messages.length} messages`);
      g.edge(g.start, first);
      g.edge(first, check);
      g.edge(check, g.finish);
    });
    const options = { tools: [book], systemPrompt: "Be brief.", registry };
    const old = (at: PersistenceStorageProvider = opened()) => durableAgent(before, at, options);
    await expect(old().run("room", { runId: "r" })).rejects.toThrow("stopped");
    return { agent: () => durableAgent(after, opened(), options), old, opened, world };
  }

  it.each([
    { what: "the same runId", options: { runId: "r" } },
    { what: "an equal input", options: {} },
  ])('is refused for $what, and the advised "abandon" starts a new run', async ({ options }) => {
    const { agent, world } = await deployed();
    const refused = await agent()
      .run("room", options)
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: "strategy_changed",
      message: expect.stringMatching(/setExecutionPoint\(\{ nodeId, input \}\).*unfinished: "abandon"/) as string,
    });
    const result = { status: "completed", output: "room: new, 1 messages" };
    expect(await agent().run("room", { ...options, unfinished: "abandon" })).toMatchObject(result);
    expect(world.done).toEqual(["book room", "book room"]);
    if ("runId" in options) expect(await agent().run("room", options)).toMatchObject({ runId: "r", ...result });
    expect(await agent().resume()).toMatchObject(result);
  });

  it("continues at a node of the new strategy set by setExecutionPoint, with its history and runId", async () => {
    const { agent, world } = await deployed();
    await persistence(agent()).agent().setExecutionPoint({ nodeId: "check", input: "room" });
    expect(await agent().resume()).toMatchObject({ runId: "r", output: "room: new, 1 messages" });
    expect(await agent().run("room", { runId: "r" })).toMatchObject({ output: "room: new, 1 messages" });
    expect(world.done).toEqual(["book room"]);
  });

  // The plan, the start of the inverse, its end and the end of the rollback: four saves.
  it.each([1, 2, 3])("is refused after its rollback was interrupted after %i saves", async (saves) => {
    const { agent, old, opened, world } = await deployed();
    const back = async (from: AIAgent<string, string>) => {
      const [first] = await persistence(agent()).agent().getCheckpoints();
      return persistence(from)
        .agent()
        .rollbackToCheckpoint(first?.checkpointId ?? "");
    };
    await expect(back(old(crashAfter(opened(), saves)))).rejects.toBeInstanceOf(SimulatedCrashError);
    for (let times = 0; times < 2; times++)
      await expect(agent().resume()).rejects.toMatchObject({ code: "strategy_changed" });
    expect(world.items).toEqual([]);
    // The new code accepts the state at the checkpoint only when it requests the rollback.
    for (let times = 0; times < 2; times++)
      expect(await back(agent())).toMatchObject({ reverted: [{ toolName: "book" }] });
    expect(await agent().resume()).toMatchObject({ output: "room: new, 1 messages" });
    expect(world.items).toEqual(["room"]);
  });

  it('is resumed despite "abandon" if its strategy has not changed', async () => {
    const opened = await storage.open();
    const world = new World();
    const fault = new Fault();
    const book = world.adder("book");
    const graph = strategy<string, string>("s", (g) => {
      const first = g.node("first", async (input: string, { tools }) => {
        await tools.call(book, { item: input });
        fault.strike();
        return input;
      });
      g.edge(g.start, first);
      g.edge(first, g.finish);
    });
    const agent = () => durableAgent(graph, opened(), { tools: [book] });
    await expect(agent().run("room", { runId: "r" })).rejects.toThrow("stopped");
    fault.repair();
    expect(await agent().run("room", { runId: "r", unfinished: "abandon" })).toMatchObject({ output: "room" });
    expect(world.done).toEqual(["book room"]);
  });

  it("reports that the runId of a canceled run cannot be reused", async () => {
    const { agent } = await deployed();
    await persistence(agent()).agent().cancel();
    await expect(agent().run("room", { runId: "r" })).rejects.toMatchObject({
      code: "nothing_to_resume",
      message: expect.stringContaining("cannot be used again") as string,
    });
    expect(await agent().run("room", { runId: "r2" })).toMatchObject({ status: "completed" });
  });
});
