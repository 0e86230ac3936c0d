import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  RollbackToolRegistry,
  tool,
  type PersistenceStorageProvider,
  type ToolEffect,
} from "agent-persistence";
import { crashAfter, scriptedModel } from "agent-persistence/testing";

const names = ["Alex", "Daniel", "Maria"];

/** An agent that signs people up in a world outside, and whose rollback takes them out again. */
function desk(world: string[], inverseEffect: ToolEffect) {
  const createUser = tool({
    name: "createUser",
    description: "signs a person up",
    inputSchema: z.object({ name: z.string() }),
    execute: ({ name }) => void world.push(`+${name}`),
  });
  const removeUser = tool({
    name: "removeUser",
    description: "takes a person out",
    inputSchema: z.object({ name: z.string() }),
    effect: inverseEffect,
    execute: ({ name }) => void world.push(`-${name}`),
  });
  const turns = [...names.map((name) => ({ toolCalls: [{ toolName: "createUser", input: { name } }] })), "done"];
  return (storage: PersistenceStorageProvider) =>
    new AIAgent({
      id: "desk",
      promptExecutor: scriptedModel(turns),
      llmModel: "scripted",
      tools: [createUser],
    }).install(Persistence, {
      storage,
      rollbackToolRegistry: new RollbackToolRegistry().registerRollback(createUser, removeUser),
    });
}

async function signedUp(build: ReturnType<typeof desk>): Promise<InMemoryPersistenceStorageProvider> {
  const storage = new InMemoryPersistenceStorageProvider();
  await build(storage).run("sign them up");
  return storage;
}

const removed = (world: readonly string[]) => world.filter((entry) => entry.startsWith("-"));

describe("an interrupted rollback", () => {
  // Begin, three times begin and end of an inverse, end: eight saves.
  it.each(Array.from({ length: 9 }, (_, saves) => saves))(
    "is finished by the next resume, after %i saves",
    async (saves) => {
      const world: string[] = [];
      const build = desk(world, "idempotent");
      const storage = await signedUp(build);
      const [first] = await persistence(build(storage)).agent().getCheckpoints();
      const crashing = persistence(build(crashAfter(storage, saves))).agent();
      await crashing.rollbackToCheckpoint(first?.checkpointId ?? "").catch(() => undefined);
      const atCrash = removed(world).length;
      const result = await build(storage).resume();
      expect(result).toMatchObject({ status: "completed", output: "done" });
      if (saves === 0) return expect(world).toEqual(["+Alex", "+Daniel", "+Maria"]);
      const distinct = removed(world).filter((entry, at, all) => all.indexOf(entry) === at);
      expect(distinct).toEqual(["-Maria", "-Daniel", "-Alex"]);
      // Only the inverse that had begun and not ended may run again, under the id of its call.
      expect(removed(world).length - distinct.length).toBeLessThanOrEqual(1);
      expect(atCrash).toBeLessThanOrEqual(3);
      expect(world.slice(-3)).toEqual(["+Alex", "+Daniel", "+Maria"]);
    },
  );

  it.each(["idempotent", "none"] as const)(
    "repeats an inverse in doubt that is a function declared %s",
    async (effect) => {
      const world: string[] = [];
      const add = tool({
        name: "add",
        description: "",
        inputSchema: z.object({ name: z.string() }),
        execute: ({ name }) => void world.push(`+${name}`),
      });
      const registry = new RollbackToolRegistry().registerRollback(
        add,
        ({ name }, { toolCallId }) => void world.push(`-${name} ${toolCallId}`),
        { effect },
      );
      const build = (storage: PersistenceStorageProvider) =>
        new AIAgent({
          id: "desk",
          promptExecutor: scriptedModel([{ toolCalls: [{ toolName: "add", input: { name: "Alex" } }] }, "done"]),
          llmModel: "scripted",
          tools: [add],
        }).install(Persistence, { storage, rollbackToolRegistry: registry });
      const storage = new InMemoryPersistenceStorageProvider();
      await build(storage).run("add");
      const [first] = await persistence(build(storage)).agent().getCheckpoints();
      const crashing = persistence(build(crashAfter(storage, 2))).agent();
      await crashing.rollbackToCheckpoint(first?.checkpointId ?? "").catch(() => undefined);
      expect(await build(storage).resume()).toMatchObject({ status: "completed" });
      const [, once, again] = world;
      expect(world).toEqual(["+Alex", expect.stringMatching(/^-Alex ./), once, "+Alex"]);
      expect(again).toBe(once);
    },
  );

  it("stops at an inverse in doubt that is not safe to repeat, until its outcome is given", async () => {
    const world: string[] = [];
    const build = desk(world, "irreversible");
    const storage = await signedUp(build);
    const [first] = await persistence(build(storage)).agent().getCheckpoints();
    // Begin of the rollback, begin of the first inverse; its end is not saved.
    await persistence(build(crashAfter(storage, 2)))
      .agent()
      .rollbackToCheckpoint(first?.checkpointId ?? "")
      .catch(() => undefined);
    expect(removed(world)).toEqual(["-Maria"]);
    for (let tries = 0; tries < 2; tries++) {
      await expect(build(storage).resume()).rejects.toMatchObject({
        code: "rollback_incomplete",
        checkpointId: first?.checkpointId,
        reverted: [],
        failed: [{ toolName: "createUser", input: { name: "Maria" }, error: { code: "tool_call_in_doubt" } }],
        remaining: [{ input: { name: "Daniel" } }, { input: { name: "Alex" } }],
      });
      expect(removed(world)).toEqual(["-Maria"]);
    }
    const outside = persistence(build(storage)).agent();
    const [inverse] = await outside.getToolCallsInDoubt();
    expect(inverse).toMatchObject({ toolName: "removeUser", effect: "irreversible", input: { name: "Maria" } });
    await outside.settleToolCall(inverse?.toolCallId ?? "", { output: undefined });
    expect(await build(storage).resume()).toMatchObject({ status: "completed" });
    expect(removed(world)).toEqual(["-Maria", "-Daniel", "-Alex"]);
  });
});

describe("an agent with an interrupted rollback", () => {
  /** Back to the second of its seven checkpoints; Maria is out again, Daniel and Alex are not. */
  async function cutShort() {
    const world: string[] = [];
    const build = desk(world, "idempotent");
    const storage = await signedUp(build);
    const ids = (await storage.getCheckpoints("desk")).map(({ checkpointId }) => checkpointId);
    const crashing = persistence(build(crashAfter(storage, 3))).agent();
    await crashing.rollbackToCheckpoint(ids[1] ?? "").catch(() => undefined);
    expect(removed(world)).toEqual(["-Maria"]);
    return { world, ids, storage, agent: persistence(build(storage)).agent(), build };
  }

  it("cannot be rolled back less far, because reverted calls stay reverted", async () => {
    const { agent, ids, world, storage } = await cutShort();
    const before = await storage.getCheckpoints("desk");
    for (const id of ids.slice(2)) {
      const refused = { code: "not_an_ancestor", available: ids.slice(0, 2) };
      await expect(agent.rollbackToCheckpoint(id)).rejects.toMatchObject(refused);
    }
    expect(removed(world)).toEqual(["-Maria"]);
    expect(await storage.getCheckpoints("desk")).toEqual(before);
  });

  it.each([
    ["to the same checkpoint", 1],
    ["to an earlier one", 0],
    ["to the latest, which is where it goes to", undefined],
  ])("is rolled back completely %s", async (_where, to) => {
    const { agent, ids, world, storage } = await cutShort();
    const report = await (to === undefined
      ? agent.rollbackToLatestCheckpoint()
      : agent.rollbackToCheckpoint(ids[to] ?? ""));
    expect(report.checkpointId).toBe(ids[to ?? 1]);
    expect(removed(world)).toEqual(["-Maria", "-Daniel", "-Alex"]);
    expect((await storage.getLatestCheckpoint("desk"))?.parentId).toBe(ids[to ?? 1]);
  });

  it("continues elsewhere only after the rollback is finished", async () => {
    const { agent, ids, world, storage, build } = await cutShort();
    await agent.setExecutionPoint({ nodeId: "callModel", input: "sign them up" });
    expect(removed(world)).toEqual(["-Maria", "-Daniel", "-Alex"]);
    const [rolledBack, moved] = (await storage.getCheckpoints("desk")).slice(-2);
    expect([rolledBack?.parentId, moved?.parentId]).toEqual([ids[1], rolledBack?.checkpointId]);
    expect(await build(storage).resume()).toMatchObject({ status: "completed" });
    // The call that signs Alex up was asked for, and left out by the move.
    expect(world.slice(-3)).toEqual(["-Alex", "+Daniel", "+Maria"]);
  });

  it("gets the messages of another checkpoint only after the rollback is finished", async () => {
    const { agent, ids, world } = await cutShort();
    await agent.rollbackToCheckpoint(ids[0] ?? "", { rollbackStrategy: "message_history_only" });
    expect(removed(world)).toEqual(["-Maria", "-Daniel", "-Alex"]);
  });
});
