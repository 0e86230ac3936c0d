import {
  persistence,
  strategy,
  tool,
  withPersistence,
  type AgentContext,
  type CreateCheckpointOptions,
} from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent, Fault, Stopped } from "../support/durableAgent.ts";
import { checkpointsOf, latestOf, nodesOf } from "../support/stored.ts";
import { logStorages, memory, storages } from "../support/storages.ts";
import { World } from "../support/World.ts";

/** One node with a body, then `next`, whose input is a number. */
function around(body: (context: AgentContext, input: string) => Promise<number> | number) {
  return strategy<string, string>("s", (g) => {
    const here = g.node("here", (input: string, context) => body(context, input));
    const next = g.node("next", { input: z.number() }, (n: number) => `next ${n}`);
    g.edge(g.start, here);
    g.edge(here, next);
    g.edge(next, g.finish);
  });
}

describe.each(storages)("$name: createCheckpoint without automatic checkpoints", (storage) => {
  it("makes the only checkpoints, in every form", async () => {
    const opened = await storage.open();
    const graph = strategy<string, string>("s", (g) => {
      const next = g.node("next", { input: z.number() }, (n: number) => `next ${n}`);
      const here = g.node("here", async (_input: string, context: AgentContext) => {
        const p = persistence(context);
        await p.createCheckpoint({ checkpointId: "beginning" });
        await p.createCheckpoint({
          nodeId: "next",
          lastInput: 1,
          lastInputType: z.number(),
          checkpointId: "by name",
          version: 7,
        });
        await p.createCheckpoint({ agentContext: context, nodeId: next, lastInput: 2, version: 0 });
        await withPersistence(context, (bound, same) =>
          bound.createCheckpoint({ agentContext: same, nodeId: "here", lastInput: "again" }),
        );
        return 3;
      });
      g.edge(g.start, here);
      g.edge(here, next);
      g.edge(next, g.finish);
    });
    const agent = durableAgent(graph, opened(), { automatic: false });
    expect(await agent.run("go")).toMatchObject({ output: "next 3" });
    const stored = await checkpointsOf(agent);
    expect(
      stored.map(({ checkpointId, version, nodeId, lastInput }) => [checkpointId, version, nodeId, lastInput]),
    ).toEqual([
      ["beginning", 1, "here", "go"],
      ["by name", 7, "next", 1],
      ["1-8", 8, "next", 2],
      ["1-9", 9, "here", "again"],
      ["1-10", 10, "finish", "next 3"],
    ]);
    expect(JSON.parse(stored[1]?.lastInputType ?? "")).toMatchObject({ type: "number" });
  });

  it("returns the saved checkpoint", async () => {
    const opened = await storage.open();
    const returned: unknown[] = [];
    const graph = around(async (context) => {
      context.llm.append({ role: "user", content: "before" });
      context.setProgress(10, "begun");
      context.recordDecision({ decision: "go on" });
      returned.push(
        await persistence(context).createCheckpoint({ nodeId: "next", lastInput: 5, checkpointId: "mine" }),
      );
      return 5;
    });
    const agent = durableAgent(graph, opened(), { automatic: false });
    await agent.run("go");
    const [stored] = await checkpointsOf(agent);
    expect(returned).toEqual([{ ...stored, checksum: "" }]);
  });

  it("is where a run continues after a crash", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const graph = around(async (context) => {
      context.llm.append({ role: "user", content: "once" });
      await persistence(context).createCheckpoint({ nodeId: "next", lastInput: 5 });
      fault.strike();
      return 6;
    });
    await expect(durableAgent(graph, opened(), { automatic: false }).run("go")).rejects.toBeInstanceOf(Stopped);
    const agent = durableAgent(graph, opened(), { automatic: false });
    expect(await agent.resume()).toMatchObject({ output: "next 5" });
    expect((await latestOf(agent)).messageHistory).toEqual([{ role: "user", content: "once" }]);
  });

  it("refuses invalid ids, versions and inputs without changes", async () => {
    const opened = await storage.open();
    const codes: unknown[] = [];
    const fault = new Fault();
    let runs = 0;
    const graph = around(async (context) => {
      const p = persistence(context);
      context.llm.append({ role: "user", content: `turn ${runs++}` });
      if (runs === 1) {
        await p.createCheckpoint({ checkpointId: "taken" });
        const refused: readonly CreateCheckpointOptions<unknown>[] = [
          { checkpointId: "taken" },
          { checkpointId: "" },
          { checkpointId: "x".repeat(257) },
          { checkpointId: "1-1" },
          { version: 1 },
          { version: 1.5 },
          { version: -1 },
          { version: Number.MAX_SAFE_INTEGER },
          { nodeId: "nowhere", lastInput: 1 },
          { nodeId: "next" },
          { nodeId: "next", lastInput: "a" },
          { nodeId: "here", lastInput: 1, lastInputType: z.string() },
          { nodeId: "here", lastInput: () => 1 },
        ];
        for (const options of refused) {
          const error = await p.createCheckpoint(options).catch((reason: unknown) => reason);
          codes.push((error as { readonly code?: string }).code);
        }
        await p.createCheckpoint({ checkpointId: "beginning" });
        fault.strike();
      }
      return context.llm.messages.length;
    });
    const build = () => durableAgent(graph, opened(), { automatic: false });
    await expect(build().run("go")).rejects.toBeInstanceOf(Stopped);
    expect(codes).toEqual([
      "checkpoint_exists",
      "invalid_input",
      "invalid_input",
      "invalid_input",
      "checkpoint_exists",
      "invalid_input",
      "invalid_input",
      "invalid_input",
      "unknown_node",
      "invalid_input",
      "invalid_input",
      "invalid_input",
      "not_serializable",
    ]);
    expect((await checkpointsOf(build())).map(({ checkpointId, version }) => [checkpointId, version])).toEqual([
      ["taken", 1],
      ["beginning", 2],
    ]);
    expect(await build().resume()).toMatchObject({ output: "next 1" });
  });

  it("cannot save the start of a node after it has saved a later point in the node", async () => {
    const opened = await storage.open();
    const graph = around(async (context) => {
      await persistence(context).createCheckpoint({ nodeId: "next", lastInput: 1 });
      const refused = await persistence(context)
        .createCheckpoint()
        .catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: "checkpoint_not_possible" });
      return 1;
    });
    const agent = durableAgent(graph, opened(), { automatic: false });
    await agent.run("go");
    expect(await nodesOf(agent)).toEqual(["next", "finish"]);
  });
});

describe.each(logStorages)("$name: work since a requested checkpoint", (storage) => {
  it("is replayed to the same nodes", async () => {
    const opened = await storage.open();
    const [world, fault] = [new World(), new Fault()];
    const book = world.adder("book");
    const graph = strategy<string, string>("s", (g) => {
      const first = g.node("first", async (input: string, context: AgentContext) => {
        await persistence(context).createCheckpoint({ nodeId: "second", lastInput: input });
        return input;
      });
      const second = g.node(
        "second",
        async (_input: string, context: AgentContext) => (await context.tools.call(book, { item: "second" })).made,
      );
      const third = g.node("third", async (_input: string, context: AgentContext) => {
        await context.tools.call(book, { item: "third" });
        fault.strike();
        return "end";
      });
      g.edge(g.start, first);
      g.edge(first, second);
      g.edge(second, third);
      g.edge(third, g.finish);
    });
    const build = () => durableAgent(graph, opened(), { automatic: false, tools: [book] });
    await expect(build().run("go")).rejects.toBeInstanceOf(Stopped);
    fault.repair();
    await build().resume();
    expect(world.done).toEqual(["book second", "book third"]);
  });

  it("is not replayed to a node other than the original node", async () => {
    const opened = await storage.open();
    const [world, fault] = [new World(), new Fault()];
    const book = world.adder("book");
    const graph = strategy<string, string>("s", (g) => {
      const first = g.node("first", async (input: string, context: AgentContext) => {
        await persistence(context).createCheckpoint({ nodeId: "planned", lastInput: input });
        return input;
      });
      const real = g.node("real", async (_input: string, context: AgentContext) => {
        await context.tools.call(book, { item: "real" });
        fault.strike();
        return "real";
      });
      const planned = g.node(
        "planned",
        async (_input: string, context: AgentContext) => (await context.tools.call(book, { item: "planned" })).made,
      );
      g.edge(g.start, first);
      g.edge(first, real);
      g.edge(real, g.finish);
      g.edge(planned, g.finish);
    });
    const build = () => durableAgent(graph, opened(), { automatic: false, tools: [book] });
    await expect(build().run("go")).rejects.toBeInstanceOf(Stopped);
    fault.repair();
    expect(await build().resume()).toMatchObject({ output: "planned" });
    expect(world.items).toEqual(["planned", "real"]);
  });

  it("is not replayed to a run that continues the messages", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    fault.repair();
    const graph = strategy<string, string>("s", (g) => {
      const ask = g.node("ask", async (question: string, context: AgentContext) => {
        context.llm.append({ role: "user", content: question });
        context.llm.append(await context.llm.request());
        fault.strike();
        return JSON.stringify(context.llm.messages.map(({ content }) => content));
      });
      g.edge(g.start, ask);
      g.edge(ask, g.finish);
    });
    const build = () => durableAgent(graph, opened(), { automatic: false, turns: ["one", "two"] });
    await build().run("q1");
    fault.return();
    await expect(build().run("q2", { history: "continue" })).rejects.toBeInstanceOf(Stopped);
    fault.repair();
    expect(await build().resume()).toMatchObject({ output: '["q1","one","q2","two"]' });
    expect((await latestOf(build())).messageHistory.map(({ content }) => content)).toEqual(["q1", "one", "q2", "two"]);
  });

  it("is kept up to a checkpoint that a tool made, if a resume branches from this checkpoint", async () => {
    const opened = await storage.open();
    const world = new World();
    const book = world.adder("book");
    const saving = tool({
      name: "saving",
      description: "",
      inputSchema: z.object({ item: z.string() }),
      execute: async ({ item }, options) => {
        const checkpointId = world.effects.size === 1 ? { checkpointId: "in tool" } : {};
        await persistence(options.context).createCheckpoint(checkpointId);
        return world.add(item, options, "saving");
      },
    });
    const graph = around(async (context, input) => {
      await context.tools.call(book, { item: `book ${input}` });
      await context.tools.call(saving, { item: `save ${input}` });
      return world.executed.length;
    });
    const agent = durableAgent(graph, opened(), { tools: [book, saving] });
    expect(await agent.run("go")).toMatchObject({ output: "next 2" });
    expect(await agent.resume({ checkpointId: "in tool" })).toMatchObject({
      output: "next 3",
      effects: { remaining: [{ toolName: "saving", input: { item: "save go" } }], missing: [] },
    });
    expect(new Set(world.executed).size).toBe(3);
    expect(world.done).toEqual(["book book go", "saving save go", "saving save go"]);
  });
});

it("a node that does not await createCheckpoint ends after the checkpoint, so that no later call is made again", async () => {
  const opened = await memory.open();
  const fault = new Fault();
  const world = new World();
  const book = world.adder("book", "irreversible");
  const slow = z.string().refine(async () => {
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    return true;
  });
  const graph = strategy<string, string>("s", (g) => {
    const saves = g.node("saves", (text: string, context) => {
      void persistence(context).createCheckpoint({ lastInput: text, lastInputType: slow });
      return text;
    });
    const books = g.node("books", async (item: string, { tools }) => {
      await tools.call(book, { item });
      for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
      fault.strike();
      return item;
    });
    g.edge(g.start, saves);
    g.edge(saves, books);
    g.edge(books, g.finish);
  });
  const agent = () => durableAgent(graph, opened(), { tools: [book] });
  await fault.stops(agent().run("car"));
  expect(await agent().resume()).toMatchObject({ status: "completed" });
  expect(world.done).toEqual(["book car"]);
});
