import {
  InMemoryPersistenceStorageProvider,
  persistence,
  RollbackToolRegistry,
  strategy,
  tool,
  type PersistenceStorageProvider,
} from "agent-persistence";
import { crashAfter } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { idOf } from "../support/asking.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { World } from "../support/World.ts";

/** An agent with one idempotent tool that asks for a color before it books. */
function askingTool() {
  const world = new World();
  const storage = new InMemoryPersistenceStorageProvider();
  const build = (at: PersistenceStorageProvider = storage) => {
    const book = tool({
      name: "book",
      description: "",
      inputSchema: z.object({ item: z.string() }),
      effect: "idempotent",
      execute: async ({ item }, options) => {
        const color = await options.context.requestInput({ prompt: `which ${item}?`, schema: z.string() });
        return world.add(`${color} ${item}`, options, "book");
      },
    });
    const registry = new RollbackToolRegistry().registerRollback(book, ({ item }, { toolCallId }) =>
      world.remove(toolCallId, item),
    );
    const graph = strategy<string, string>("s", (g) => {
      const only = g.node("only", async (item: string, context) => (await context.tools.call(book, { item })).made);
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    return durableAgent(graph, at, { tools: [book], registry });
  };
  const outside = (at?: PersistenceStorageProvider) => persistence(build(at)).agent();
  return { world, storage, build, outside };
}

/** The process ended after the intent of the call, and before its request was durable. */
async function diedBeforeAsking() {
  const agent = askingTool();
  await expect(agent.build(crashAfter(agent.storage, 2)).run("car")).rejects.toThrow("crash");
  const [call] = await agent.outside().getToolCallsInDoubt();
  return { ...agent, toolCallId: call?.toolCallId ?? "" };
}

it.each(["as it is", "after it was settled as retry"])(
  "a rollback skips an idempotent call that requests input before it acts, %s",
  async (how) => {
    const { outside, build, world, toolCallId } = await diedBeforeAsking();
    if (how !== "as it is") await outside().settleToolCall(toolCallId, "retry");
    const report = await outside().rollbackToCheckpoint("1-1");
    expect(report).toMatchObject({ reverted: [], failed: [], skipped: [{ toolCallId }] });
    expect(await outside().getToolCallsInDoubt()).toEqual([]);
    await outside().answer(idOf(await build().resume()), "red");
    expect(await build().resume()).toMatchObject({ status: "completed", output: "red car" });
    expect(world.done).toEqual(["book red car"]);
  },
);

it.each([0, 1, 2, 3])(
  "a rollback that skips a call with a request is finished by the next run after a crash, after %i saves",
  async (saves) => {
    const { outside, build, world, storage } = await diedBeforeAsking();
    await outside(crashAfter(storage, saves))
      .rollbackToCheckpoint("1-1")
      .catch(() => undefined);
    await outside().answer(idOf(await build().resume()), "red");
    expect(await build().resume()).toMatchObject({ status: "completed", output: "red car" });
    expect(world.done).toEqual(["book red car"]);
  },
);

it("a rollback repeats an idempotent call with its recorded answers, and reverts it", async () => {
  const { outside, build, world, storage } = askingTool();
  await outside().answer(idOf(await build().run("car")), "red");
  // The intent of the call that goes on is saved, and its outcome is not.
  await expect(build(crashAfter(storage, 1)).resume()).rejects.toThrow("crash");
  expect(world.items).toEqual(["red car"]);
  const report = await outside().rollbackToCheckpoint("1-1");
  expect(report).toMatchObject({ reverted: [{ output: { made: "red car" } }], failed: [], skipped: [] });
  expect(world.done).toEqual(["book red car", "book red car", "undo car"]);
});

it.each([-1, Number.NaN, 8e15])("a rollback refuses a sleep of %s ms in a call that it repeats", async (wrong) => {
  let ms = 3_600_000;
  const storage = new InMemoryPersistenceStorageProvider();
  const nap = tool({
    name: "nap",
    description: "",
    inputSchema: z.object({}),
    effect: "idempotent",
    execute: async (_input, { context }) => {
      await context.sleep(ms);
      return "rested";
    },
  });
  const registry = new RollbackToolRegistry().registerRollback(nap, () => undefined);
  const graph = strategy<string, string>("s", (g) => {
    const only = g.node("only", async (_: string, context) => context.tools.call(nap, {}));
    g.edge(g.start, only);
    g.edge(only, g.finish);
  });
  const build = (at: PersistenceStorageProvider) => durableAgent(graph, at, { tools: [nap], registry });
  await expect(build(crashAfter(storage, 2)).run("go")).rejects.toThrow("crash");
  ms = wrong;
  const rollback = persistence(build(storage)).agent().rollbackToCheckpoint("1-1");
  await expect(rollback).rejects.toThrow(/InvalidInputError: Invalid argument of sleep\(\)/);
});
