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
  return (storage: PersistenceStorageProvider<never>) =>
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

describe("a rollback that a crash cuts short", () => {
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
      const build = (storage: PersistenceStorageProvider<never>) =>
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

  it("never repeats an inverse in doubt that does not say it may be, and says which effect may stand", async () => {
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
    await expect(build(storage).resume()).rejects.toMatchObject({
      code: "rollback_incomplete",
      checkpointId: first?.checkpointId,
      failed: [{ toolName: "createUser", error: { code: "tool_call_in_doubt" } }],
    });
    expect(removed(world)).toEqual(["-Maria", "-Daniel", "-Alex"]);
    expect(await build(storage).resume()).toMatchObject({ status: "completed" });
    expect(removed(world)).toHaveLength(3);
  });
});
