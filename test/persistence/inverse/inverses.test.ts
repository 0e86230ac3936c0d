import { persistence, RollbackToolRegistry, strategy, tool, type AgentContext } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate } from "../../agent/gate.ts";
import { durableAgent, type DurableOptions } from "../support/durableAgent.ts";
import { checkpointsOf } from "../support/stored.ts";
import { logStorages, storages, type TestStorage } from "../support/storages.ts";
import { World } from "../support/World.ts";

/** Runs one node, then goes back to before it. */
async function undo(storage: TestStorage, body: (context: AgentContext) => Promise<unknown>, options: DurableOptions) {
  const opened = await storage.open();
  const graph = strategy<string, string>("s", (g) => {
    const only = g.node("only", async (_input: string, context: AgentContext) => {
      await body(context);
      return "done";
    });
    g.edge(g.start, only);
    g.edge(only, g.finish);
  });
  const agent = durableAgent(graph, opened(), options);
  await agent.run("go").catch((error: unknown) => error);
  const [first] = await checkpointsOf(agent);
  const report = await persistence(agent)
    .agent()
    .rollbackToCheckpoint(first?.checkpointId ?? "");
  return { report };
}

describe.each(storages)("$name: inverses", (storage) => {
  it("run in the reverse order in which their calls finished", async () => {
    const world = new World();
    const order: (() => void)[] = [];
    const allBegun = gate();
    const book = tool({
      name: "book",
      description: "",
      inputSchema: z.object({ item: z.string() }),
      execute: async ({ item }, options) => {
        await new Promise<void>((resolve) => {
          if (order.push(resolve) === 3) allBegun.open();
        });
        return world.add(item, options, "book");
      },
    });
    const registry = new RollbackToolRegistry().registerRollback(book, (_input, call) =>
      world.remove(call.toolCallId, call.output.made),
    );
    const body = async (context: AgentContext) => {
      const calls = ["a", "b", "c"].map((item) => context.tools.call(book, { item }));
      await allBegun.opened;
      for (const at of [1, 2, 0]) {
        order[at]?.();
        await calls[at];
      }
    };
    await undo(storage, body, { tools: [book], registry });
    expect(world.done).toEqual(["book b", "book c", "book a", "undo a", "undo c", "undo b"]);
  });

  it("run only for calls that succeeded, and the report lists the others by outcome", async () => {
    const world = new World();
    const [book, send, look] = [world.adder("book"), world.adder("send"), world.adder("look", "none")];
    const broken = world.failing("broken");
    const registry = new RollbackToolRegistry()
      .registerRollback(book, (_input, { toolCallId, output }) => world.remove(toolCallId, output.made))
      .registerRollback(broken as typeof book, () => world.done.push("undone what failed"));
    const body = async (context: AgentContext) => {
      await context.tools.call(book, { item: "1" });
      await context.tools.call(send, { item: "2" });
      await context.tools.call(look, { item: "3" });
      await context.tools.call(broken as typeof book, { item: "4" }).catch(() => undefined);
    };
    const { report } = await undo(storage, body, { tools: [book, send, look, broken], registry });
    expect(world.done.slice(3)).toEqual(["undo 1"]);
    expect(report).toMatchObject({
      reverted: [{ toolName: "book", input: { item: "1" }, output: { made: "1" } }],
      irreversible: [{ toolName: "send", input: { item: "2" } }],
      failed: [],
      skipped: [],
    });
  });

  it("that are tools get the same arguments, validated again", async () => {
    const world = new World();
    const book = tool({
      name: "book",
      description: "",
      inputSchema: z.object({ item: z.string(), count: z.number().default(2) }),
      execute: ({ item }, options) => world.add(item, options, "book"),
    });
    const unbook = tool({
      name: "unbook",
      description: "",
      inputSchema: z.object({ item: z.string(), count: z.number().max(5).default(2) }),
      execute: ({ item, count }) => world.done.push(`unbook ${item} ${count}`),
    });
    const registry = new RollbackToolRegistry().registerRollback(book, unbook);
    const body = async (context: AgentContext) => {
      await context.tools.call(book, { item: "many", count: 9 });
      await context.tools.call(book, { item: "ok" });
    };
    await expect(undo(storage, body, { tools: [book], registry })).rejects.toMatchObject({
      code: "rollback_incomplete",
      reverted: [{ input: { item: "ok" } }],
      failed: [
        {
          input: { item: "many", count: 9 },
          error: { code: "invalid_input", subject: 'stored input of tool "unbook"' },
        },
      ],
      remaining: [],
    });
    expect(world.done).toEqual(["book many", "book ok", "unbook ok 2"]);
  });

  it("receive rich values unchanged", async () => {
    const got: unknown[] = [];
    const rich = tool({
      name: "rich",
      description: "",
      inputSchema: z.object({ at: z.date() }),
      execute: ({ at }) => ({ seen: new Map([["at", at]]), bytes: new Uint8Array([1, 2]) }),
    });
    const registry = new RollbackToolRegistry().registerRollback(rich, (input, { output }) =>
      got.push([input, output]),
    );
    const at = new Date(5);
    await undo(storage, (context) => context.tools.call(rich, { at }), { tools: [rich], registry });
    expect(got).toEqual([[{ at }, { seen: new Map([["at", at]]), bytes: new Uint8Array([1, 2]) }]]);
  });
});

describe.each(logStorages)("$name: a call whose output cannot be stored", (storage) => {
  it("counts as done, is not repeated, and can be undone", async () => {
    const world = new World();
    const opened = await storage.open();
    const odd = tool({
      name: "odd",
      description: "",
      inputSchema: z.object({ item: z.string() }),
      execute: ({ item }, options) => ({
        deep: [{ save: () => world.add(item, options, "odd") }.save, world.add(item, options, "odd")],
      }),
    });
    const registry = new RollbackToolRegistry().registerRollback(odd, ({ item }, { toolCallId, output }) => {
      expect(output).toBeUndefined();
      world.remove(toolCallId, item);
    });
    const graph = strategy<string, string>("s", (g) => {
      const only = g.node("only", async (item: string, context: AgentContext) => {
        await context.tools.call(odd, { item });
        return item;
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    const agent = durableAgent(graph, opened(), { tools: [odd], registry });
    const refusal = { code: "not_serializable", subject: 'the output of tool "odd"', path: ".deep[0]" };
    await expect(agent.run("x")).rejects.toMatchObject(refusal);
    await expect(agent.resume()).rejects.toMatchObject(refusal);
    expect(world.done).toEqual(["odd x"]);
    expect(await checkpointsOf(agent)).toHaveLength(1);
    const report = await persistence(agent).agent().rollbackToLatestCheckpoint();
    expect(report.reverted).toMatchObject([{ toolName: "odd", input: { item: "x" } }]);
    expect(world.items).toEqual([]);
  });
});
