import { InMemoryPersistenceStorageProvider, persistence, storageKey, strategy } from "agent-persistence";
import { expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { SnapshotDue } from "../../../src/storage/SnapshotDue.ts";
import { gate } from "../../agent/gate.ts";
import { durableAgent, Fault, Stopped } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";

const large = storageKey("large", z.string());

/** A branch that stores much in many steps, beside one that stores little; the merge may fail. */
function spinning(fault: Fault, ran: string[]) {
  return strategy<string, string>("spinning", (graph) => {
    const busy = graph.subgraph<number, number>("busy", (inner) => {
      const spin = inner.node("spin", (left: number, context) => {
        ran.push("spin");
        context.storage.set(large, String(left).padEnd(9_000, "."));
        return left - 1;
      });
      inner.edge(inner.start, spin);
      inner.edge(spin, spin, { when: (left: number) => left > 0 });
      inner.edge(spin, inner.finish, { when: (left: number) => left <= 0 });
    });
    const idle = graph.node("idle", (left: number, context) => {
      ran.push("idle");
      context.llm.append({ role: "user", content: "idle" });
      return left;
    });
    const both = graph.parallel("both", { busy, idle }, (results, context) => {
      fault.strike();
      const { messages } = context.branches.idle;
      return `${results.busy} ${results.idle} ${messages.length} ${context.branches.busy.storage.get(large)?.slice(0, 3)}`;
    });
    graph.edge(graph.start, both, { map: Number });
    graph.edge(both, graph.finish);
  });
}

it.each(logStorages)("$name: branches that store many records resume completely", async (storage) => {
  const [fault, ran] = [new Fault(), [] as string[]];
  const opened = await storage.open();
  const options = { maxIterations: 1_000 };
  await expect(durableAgent(spinning(fault, ran), opened(), options).run("200")).rejects.toBeInstanceOf(Stopped);
  expect(ran).toHaveLength(201);
  fault.repair();
  const result = await durableAgent(spinning(fault, ran), opened(), options).resume();
  expect(result).toMatchObject({ status: "completed", output: "0 200 1 1.." });
  expect(ran).toHaveLength(201);
});

it.each(logStorages)(
  "$name: a request of a branch stays visible while other branches store many records",
  async (storage) => {
    const [stored, held] = [gate<void>(), gate<void>()];
    const opened = await storage.open();
    const built = strategy<string, string>("asking", (graph) => {
      const asks = graph.node("asks", (_: number, context) =>
        context.requestInput({ prompt: "go on?", schema: z.string() }),
      );
      const busy = graph.subgraph<number, number>("busy", (inner) => {
        const spin = inner.node("spin", async (left: number, context) => {
          context.storage.set(large, String(left).padEnd(9_000, "."));
          if (left > 0) return left - 1;
          stored.open();
          await held.opened;
          return -1;
        });
        inner.edge(inner.start, spin);
        inner.edge(spin, spin, { when: (left: number) => left >= 0 });
        inner.edge(spin, inner.finish, { when: (left: number) => left < 0 });
      });
      const both = graph.parallel("both", { asks, busy }, (results) => results.asks);
      graph.edge(graph.start, both, { map: Number });
      graph.edge(both, graph.finish);
    });
    const agent = durableAgent(built, opened(), { maxIterations: 1_000 });
    const run = agent.run("200");
    await stored.opened;
    const [request] = await persistence(durableAgent(built, opened())).agent().getRequests();
    expect(request).toMatchObject({ prompt: "go on?" });
    await persistence(agent).answer(request?.requestId ?? "", "yes");
    held.open();
    expect(await run).toMatchObject({ output: "yes" });
  },
);

it("a snapshot of so many open branches that it is not worth its size is not made", async () => {
  const items = 4_000;
  const tried = vi.spyOn(SnapshotDue.prototype, "tried");
  onTestFinished(() => tried.mockRestore());
  const built = strategy<string, string>("listing", (graph) => {
    const work = graph.node("work", (item: string) => item);
    const all = graph.each("all", work, (results: readonly string[]) => String(results.length));
    graph.edge(graph.start, all, { map: (text) => Array.from({ length: items }, () => text) });
    graph.edge(all, graph.finish);
  });
  const agent = durableAgent(built, new InMemoryPersistenceStorageProvider(), { maxIterations: 10 * items });
  expect(await agent.run("x".repeat(100))).toMatchObject({ output: String(items) });
  const sizes = tried.mock.calls.flatMap(([place, , bytes]) => (place === "step" ? bytes : []));
  expect(sizes).toEqual([100 * (items + 1)]);
});
