import { persistence, RollbackToolRegistry, storageKey, strategy, type AgentContext } from "agent-persistence";
import {
  type LogPersistenceStorageProvider,
  type ReadOptions,
  LogPersistenceStorageProvider as LogProvider,
} from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent, Fault, Stopped } from "../support/durableAgent.ts";
import { checkpointsOf, latestOf, recordsOf, restoredBy } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const round = storageKey("round", z.number());
const text = (at: number) => `${at} ${"x".repeat(8_000)}`;

/** Writes much and keeps little: each round books an item and replaces the history. Stops in the middle of a round. */
function trimming(world: World, fault: Fault, stopAt: number, rounds: number) {
  const book = world.adder("book", "idempotent");
  const registry = new RollbackToolRegistry().registerRollback(book, (_input, { toolCallId, output }) =>
    world.remove(toolCallId, output.made),
  );
  const graph = strategy<string, string>("s", (g) => {
    const turn = g.node("turn", async (input: string, context: AgentContext) => {
      const at = (context.storage.get(round) ?? 0) + 1;
      context.storage.set(round, at);
      context.llm.rewrite((messages) => messages.slice(-3));
      context.llm.append({ role: "user", content: text(at) });
      context.llm.append(await context.llm.request());
      await context.tools.call(book, { item: `${at}` });
      context.recordDecision({ decision: `round ${at}` });
      if (at === stopAt) fault.strike();
      return input;
    });
    g.edge(g.start, turn);
    const isOver = (context: { readonly at: number }) => context.at >= rounds;
    const judge = g.node("judge", (input: string, context) => ({ at: context.storage.get(round) ?? 0, input }));
    g.edge(turn, judge);
    g.edge(judge, turn, { when: (state) => !isOver(state), map: ({ input }) => input });
    g.edge(judge, g.finish, { map: ({ at }) => `${at} rounds` });
  });
  const model = { execute: async () => ({ message: { role: "assistant", content: text(0) } as const }) };
  return { graph, options: { tools: [book], registry, model, maxIterations: 10_000 } };
}

/** Where each read of a log began. */
function readsOf(provider: LogPersistenceStorageProvider) {
  const first: { readonly position: number; readonly sinceSnapshot: boolean }[] = [];
  const { log } = provider;
  const counting = new Proxy(log, {
    get(target, name) {
      if (name === "read") {
        return async function* (agentId: string, options: ReadOptions = {}) {
          let begun = false;
          for await (const entry of target.read(agentId, options)) {
            if (!begun) first.push({ position: entry.position, sinceSnapshot: options.sinceSnapshot ?? false });
            begun = true;
            yield entry;
          }
        };
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  return { provider: new LogProvider(counting), first };
}

describe.each(logStorages)("$name: long runs", (storage) => {
  it("open from the newest snapshot, resume after it, and roll back to a checkpoint before it", async () => {
    const opened = await storage.open();
    const [world, fault] = [new World(), new Fault()];
    const { graph, options } = trimming(world, fault, 150, 160);
    await expect(durableAgent(graph, opened(), options).run("go", { runId: "r" })).rejects.toBeInstanceOf(Stopped);
    const records = await recordsOf(opened());
    const snapshots = records.filter(({ kind }) => kind === "snapshot").length;
    expect(snapshots).toBeGreaterThan(0);
    fault.repair();

    const { provider, first } = readsOf(opened());
    const executed = world.executed.length;
    expect(await durableAgent(graph, provider, options).resume()).toMatchObject({ output: "160 rounds" });
    expect(first[0]?.sinceSnapshot).toBe(true);
    expect(first[0]?.position).toBeGreaterThan(100);
    expect(first).toHaveLength(1);
    expect(world.executed.length - executed).toBe(10);
    expect(world.items).toHaveLength(160);

    const undisturbed = trimming(new World(), new Fault(), -1, 160);
    const whole = durableAgent(undisturbed.graph, (await storage.open())(), undisturbed.options);
    await whole.run("go", { runId: "r" });
    const agent = durableAgent(graph, opened(), options);
    expect(restoredBy(await latestOf(agent))).toEqual(restoredBy(await latestOf(whole)));
    expect((await checkpointsOf(agent)).map((data) => restoredBy(data))).toEqual(
      (await checkpointsOf(whole)).map((data) => restoredBy(data)),
    );

    const early = (await checkpointsOf(agent))[10];
    await persistence(agent)
      .agent()
      .rollbackToCheckpoint(early?.checkpointId ?? "");
    expect(world.items).toHaveLength(5);
    expect((await latestOf(agent)).messageHistory).toEqual(early?.messageHistory);
    expect(await agent.resume()).toMatchObject({ output: "160 rounds" });
    expect(world.items).toHaveLength(160);
  });

  it("find results of finished runs and named checkpoints before a snapshot", async () => {
    const opened = await storage.open();
    const world = new World();
    const { graph, options } = trimming(world, new Fault(), -1, 100);
    const agent = durableAgent(graph, opened(), options);
    await agent.run("go", { runId: "first" });
    await agent.run("go", { runId: "second" });
    expect((await recordsOf(opened())).filter(({ kind }) => kind === "snapshot").length).toBeGreaterThan(0);
    const executed = world.executed.length;
    expect(await agent.run("go", { runId: "first" })).toEqual({
      status: "completed",
      runId: "first",
      output: "100 rounds",
    });
    expect(world.executed).toHaveLength(executed);
  });
});

describe.each(logStorages)("$name: large values", (storage) => {
  it("are stored once, however often they occur, even by the next process", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const big = "é".repeat(20_000);
    const kept = storageKey("kept", z.string());
    const graph = strategy<string, string>("s", (g) => {
      const first = g.node("first", (input: string, context) => {
        context.storage.set(kept, input);
        context.llm.append({ role: "user", content: input });
        return input;
      });
      const second = g.node("second", (input: string, context) => {
        fault.strike();
        context.storage.set(kept, "");
        context.storage.set(kept, `${input}`);
        return { size: input.length, same: context.storage.get(kept) === input };
      });
      g.edge(g.start, first);
      g.edge(first, second);
      g.edge(second, g.finish, { map: (result) => JSON.stringify(result) });
    });
    await expect(durableAgent(graph, opened()).run(big)).rejects.toBeInstanceOf(Stopped);
    fault.repair();
    expect(await durableAgent(graph, opened()).run(big)).toMatchObject({ output: '{"size":20000,"same":true}' });
    const stored = JSON.stringify(await recordsOf(opened()));
    expect(stored).not.toContain("ééé");
    const references = stored.match(/blob:\/\/[0-9a-f]+-\d+/g) ?? [];
    expect(references.length).toBeGreaterThan(3);
    const [first] = await checkpointsOf(durableAgent(graph, opened()));
    expect(first?.lastInput).toBe(big);
    // The text, and the message that holds it.
    expect(new Set(references).size).toBe(2);
  });
});
