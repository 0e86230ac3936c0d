import { type AgentContext, persistence, RollbackToolRegistry, storageKey, strategy } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { recordsOf } from "../support/stored.ts";
import { World } from "../support/World.ts";
// Loaded before the runs, because a run in memory can end before the first snapshot has loaded this code.
import "../../../src/checkpoint/data/headSnapshot.ts";

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

describe.each(logStorages)("$name: a fork that is read from a snapshot", (storage) => {
  it("continues, can be forked and rolled back, and leaves each call to the agent that made it", async () => {
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

  it("within an unfinished node finds the recorded calls and does not repeat them", async () => {
    const [world, opened] = [new World(), await storage.open()];
    const book = world.adder("book");
    const registry = new RollbackToolRegistry().registerRollback(book, ({ item }, { toolCallId }) =>
      world.remove(toolCallId, item),
    );
    const ask = (name: string) => async (_: string, context: AgentContext) => {
      await context.tools.call(book, { item: name });
      return context.requestInput({ prompt: name, schema: z.string() });
    };
    const built = strategy<string, string>("beside", (graph) => {
      const steps = graph.subgraph<string, string>("steps", (inner) => {
        const begin = inner.node("begin", ask("begin"));
        const step = inner.node("step", async (left: number, context) => {
          context.storage.set(large, `${left} `.padEnd(9_900, "."));
          return left - 1;
        });
        inner.edge(inner.start, begin);
        inner.edge(begin, step, { map: Number });
        inner.edge(step, step, { when: (left: number) => left > 0 });
        inner.edge(step, inner.finish, { when: (left: number) => left === 0, map: String });
      });
      const both = graph.parallel("both", { waits: graph.node("waits", ask("waits")), steps }, ({ waits }) => waits);
      graph.edge(graph.start, both);
      graph.edge(both, graph.finish);
    });
    const agent = () => durableAgent(built, opened(), { tools: [book], registry, maxIterations: 1_000 });
    await agent().run("go");
    const b = await persistence(agent()).agent("a").fork("b");
    const answer = async (prompt: string, value: string) => {
      const request = (await b.getRequests()).find((each) => each.prompt === prompt);
      return agent().resume({ agentId: "b", answers: { [request?.requestId ?? ""]: value } });
    };
    expect(await answer("begin", "150")).toMatchObject({ requests: [{ prompt: "waits" }] });
    expect(await isReadFromSnapshot(opened(), "b")).toBe(true);
    const c = await b.fork("c");
    expect(await answer("waits", "done")).toMatchObject({ output: "done" });
    const [request] = await c.getRequests();
    const answers = { [request?.requestId ?? ""]: "other" };
    expect(await agent().resume({ agentId: "c", answers })).toMatchObject({ output: "other" });
    expect(world.items).toEqual(["begin", "waits"]);
    const [first] = await b.getCheckpoints();
    const { reverted, skipped } = await b.rollbackToCheckpoint(first?.checkpointId ?? "");
    expect([reverted.length, skipped.map(({ owner }) => owner)]).toEqual([0, ["a", "a"]]);
  });
});
