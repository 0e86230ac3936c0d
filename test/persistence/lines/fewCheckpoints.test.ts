import { InMemoryPersistenceStorageProvider, persistence, strategy, triggers } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { durableAgent, type DurableOptions, Fault } from "../support/durableAgent.ts";
import { bothEnded, branchKinds, everyLine, lineKinds } from "../support/lineKinds.ts";
import { logStorages, storages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const seldom = {
  "without automatic checkpoints": () => ({ automatic: false }),
  "with a trigger that is not due": () => ({ triggers: [triggers.interval({ everyMs: 1_000 })] }),
} satisfies Readonly<Record<string, () => DurableOptions>>;

/** Two lines that book, of which the first stops after that; what was done then, and after a resume. */
async function stoppedOnce(
  [, storage, kind]: ReturnType<typeof everyLine<(typeof storages)[number]>>[number],
  options: () => DurableOptions,
) {
  const [world, fault] = [new World(), new Fault()];
  const book = world.adder("book", "idempotent");
  const build = kind.build(
    world,
    {
      line: async (role, { tools }) => {
        await tools.call(book, { item: role });
        fault.strike();
        return role;
      },
      beside: async (role, { tools }) => {
        await tools.call(book, { item: role });
        return role;
      },
    },
    { tools: [book] },
  );
  const opened = await storage.open();
  const agent = () => build(opened(), options());
  await expect(agent().run("go")).rejects.toThrow("stopped");
  const saved = await persistence(agent()).agent("a").getCheckpoints();
  fault.repair();
  expect(await agent().resume()).toMatchObject({ output: bothEnded });
  return { world, saved, count: (node: string) => world.nodes.filter((each) => each === node).length };
}

describe.each(Object.entries(seldom))("%s", (_name, options) => {
  it.each(everyLine(storages, branchKinds))(
    "branches, %s: forks and ends are saved, and an unfinished branch starts again",
    async (...each) => {
      const { world, saved, count } = await stoppedOnce(each, options);
      const [, storage, { branch }] = each;
      expect(saved.map((checkpoint) => [checkpoint.branch, checkpoint.status])).toEqual([
        [undefined, "in_progress"],
        [branch, "in_progress"],
        [branch?.replace("line", "beside"), "in_progress"],
        [branch?.replace("line", "beside"), "completed"],
      ]);
      expect([count("line begins"), count("line acts"), count("beside begins")]).toEqual([2, 2, 1]);
      expect(world.items).toEqual(["beside", "line"]);
      // A log has the call besides.
      expect(world.executed).toHaveLength(storage.name === "three methods" ? 3 : 2);
    },
  );

  it.each(everyLine(logStorages, lineKinds.slice(branchKinds.length)))(
    "agents, %s: each saves according to its options",
    async (...each) => {
      const { world, count } = await stoppedOnce(each, options);
      expect([count("line begins"), count("line acts"), count("beside begins")]).toEqual([1, 2, 1]);
      expect(world.executed).toHaveLength(2);
    },
  );
});

it.each(everyLine(logStorages))(
  "an interval that is due within a line, %s: continues from its checkpoint",
  async (...each) => {
    const [, storage, kind] = each;
    const [world, fault, clock] = [new World(), new Fault(), new SimulatedClock()];
    const book = world.adder("book", "irreversible");
    const build = kind.build(
      world,
      {
        line: async (role, { tools }) => {
          await tools.call(book, { item: `${role} 1` });
          clock.advance(1_001);
          await tools.call(book, { item: `${role} 2` });
          fault.strike();
          return role;
        },
      },
      { tools: [book] },
    );
    const opened = await storage.open();
    const agent = () => build(opened(), { clock, triggers: [triggers.interval({ everyMs: 1_000 })] });
    await expect(agent().run("go")).rejects.toThrow("stopped");
    fault.repair();
    expect(await agent().resume()).toMatchObject({ output: bothEnded });
    expect(world.executed).toHaveLength(2);
    expect(world.items).toEqual(["line 1", "line 2"]);
  },
);

/** The log that an earlier version wrote when a run moved before its first checkpoint. */
async function withoutSettings({ log }: LogPersistenceStorageProvider): Promise<LogPersistenceStorageProvider> {
  const copy = new InMemoryPersistenceStorageProvider();
  const owned = await copy.log.open("a", { host: "test", processId: 1, nonce: "copy" });
  for await (const { records } of log.read("a")) {
    const kept = records.filter(({ kind }) => kind !== "settings");
    await owned.append({ id: `${owned.generation}-${owned.position + 1}`, records: kept }, owned.position);
  }
  await owned.release();
  return copy;
}

it.each([
  ["with its stored settings", async (stored: LogPersistenceStorageProvider) => stored],
  ["whose log has no settings", withoutSettings],
])("a merge of a run that moved before its first checkpoint, %s: requests the same model", async (_name, read) => {
  const world = new World();
  const [second, merge] = [new Fault(), new Fault()];
  const book = world.adder("book");
  const asked: unknown[] = [];
  const graph = strategy<string, string>("moved", (g) => {
    const moves = g.node("moves", (input: string, context) =>
      persistence(context).setExecutionPoint({ nodeId: "second", input }),
    );
    const next = g.node("second", (input: string) => {
      second.strike();
      return input;
    });
    const only = g.node("only", (input: string) => input);
    const both = g.parallel("both", { only }, async (_results, { branches, llm, tools }) => {
      branches.only.adopt();
      await tools.execute(await llm.request());
      merge.strike();
      await llm.request();
      return "merged";
    });
    g.edge(g.start, moves);
    g.edge(moves, next);
    g.edge(next, both);
    g.edge(both, g.finish);
  });
  const toolCalls = [{ toolName: "book", input: { item: "desk" } }];
  const agent = (storage: LogPersistenceStorageProvider) =>
    durableAgent(graph, storage, {
      automatic: false,
      tools: [book],
      model: {
        execute(request) {
          asked.push([request.model, request.tools.map(({ name }) => name)]);
          return scriptedModel([{ toolCalls }]).execute(request);
        },
      },
    });
  const first = new InMemoryPersistenceStorageProvider();
  await second.stops(agent(first).run("go"));
  const storage = await read(first);
  await merge.stops(agent(storage).resume());
  expect(await agent(storage).resume()).toMatchObject({ output: "merged" });
  expect(asked).toEqual([
    ["scripted", ["book"]],
    ["scripted", ["book"]],
  ]);
  expect(world.items).toEqual(["desk"]);
});
