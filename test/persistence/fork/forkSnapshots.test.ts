import { persistence, RollbackToolRegistry, storageKey, strategy } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { recordsOf } from "../support/stored.ts";
import { World } from "../support/World.ts";

const large = storageKey("large", z.string());

/** Books in many steps, which store much, asks, and books once more. */
function agentsOf(world: World) {
  const book = world.adder("book");
  const registry = new RollbackToolRegistry().registerRollback(book, ({ item }, { toolCallId }) =>
    world.remove(toolCallId, item),
  );
  const built = strategy<string, string>("booking", (graph) => {
    const step = graph.node("step", async (left: number, context) => {
      context.storage.set(large, `${left} `.padEnd(9_900, "."));
      await context.tools.call(book, { item: `${left}` });
      return left - 1;
    });
    const ask = graph.node("ask", async (_: number, context) => {
      await context.tools.call(book, { item: "ask" });
      return context.requestInput({ prompt: "ok?", schema: z.boolean() });
    });
    const last = graph.node("last", async (ok: boolean, context) => {
      await context.tools.call(book, { item: "last" });
      return `${ok} ${context.storage.get(large)?.slice(0, 2)}`;
    });
    graph.edge(graph.start, step, { map: Number });
    graph.edge(step, step, { when: (left: number) => left > 0 });
    graph.edge(step, ask, { when: (left: number) => left === 0 });
    graph.edge(ask, last);
    graph.edge(last, graph.finish);
  });
  return (storage: LogPersistenceStorageProvider) =>
    durableAgent(built, storage, { tools: [book], registry, maxIterations: 1_000 });
}

async function isReadFromSnapshot({ log }: LogPersistenceStorageProvider, agentId: string): Promise<boolean> {
  const kinds: string[] = [];
  for await (const { records } of log.read(agentId, { sinceSnapshot: true }))
    kinds.push(...records.map(({ kind }) => kind));
  return kinds[0] !== undefined && kinds.includes("snapshot") && !kinds.includes("origin");
}

describe.each(logStorages)("$name: a fork that is read from a snapshot after its origin", (storage) => {
  it("goes on, is forked again and rolled back, and each call stays with the agent that made it", async () => {
    const [world, opened] = [new World(), await storage.open()];
    const build = agentsOf(world);
    const agent = () => build(opened());
    const durable = (agentId: string) => persistence(agent()).agent(agentId);
    await build(crashAfter(opened(), 10) as LogPersistenceStorageProvider)
      .run("140")
      .catch(() => undefined);
    // The last one was cut short: the fork makes it as a call of its own.
    const kinds = (await recordsOf(opened())).map(({ kind }) => kind);
    const [begun = 0, over = 0] = ["intent", "outcome"].map((each) => kinds.filter((kind) => kind === each).length);
    const b = await durable("a").fork("b");
    expect(await agent().resume({ agentId: "b" })).toMatchObject({ status: "waiting" });
    expect(await isReadFromSnapshot(opened(), "b")).toBe(true);
    expect(await b.getToolCallsInDoubt()).toEqual([]);
    const c = await b.fork("c");
    const ends = [];
    for (const each of [c, b]) {
      const [request] = await each.getRequests();
      const answers = { [request?.requestId ?? ""]: true };
      expect(await agent().resume({ agentId: each.agentId, answers })).toMatchObject({ output: "true 1 " });
      const [first] = await each.getCheckpoints();
      const { reverted, skipped } = await each.rollbackToCheckpoint(first?.checkpointId ?? "");
      const owners = skipped.map(({ owner }) => owner);
      ends.push([reverted.length, ...["a", "b"].map((id) => owners.filter((owner) => owner === id).length)]);
    }
    expect(begun).toBe(over + 1);
    expect(ends).toEqual([
      [1, begun, 141 - over],
      [142 - over, begun, 0],
    ]);
    expect(world.items).toHaveLength(world.effects.size);
  });
});
