import {
  type AgentContext,
  persistence,
  type RollbackReport,
  RollbackToolRegistry,
  tool,
  ToolCallInDoubtError,
  ToolFailedError,
} from "agent-persistence";
import { ReplayDivergedError } from "agent-persistence/errors";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate } from "../../agent/gate.ts";
import { called, chain, type NodeBody } from "../support/calledAgents.ts";
import { defaultLoop } from "../support/defaultLoop.ts";
import { durableAgent, Fault, Stopped } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";
import { every } from "../../soak/cases.ts";

const message = (error: unknown) => (error instanceof Error ? error.message : "none");

describe.each(logStorages)("$name: failures of called agents", (storage) => {
  it("give code a ToolFailedError and a model an error result, and are replayed", async () => {
    const world = new World();
    const ask = called(
      "ask",
      chain("inner", {
        one: (text) => {
          world.nodes.push("one");
          throw new RangeError(`no ${text}`);
        },
      }),
    );
    const fault = new Fault();
    const outer = chain("outer", {
      plan: async (text, { tools }) => {
        const found = await tools.call(ask, { topic: text }).catch((error: unknown) => {
          expect(error).toBeInstanceOf(ToolFailedError);
          return message(error);
        });
        fault.strike();
        return found;
      },
    });
    const opened = await storage.open();
    const agent = () => durableAgent(outer, opened(), { tools: [ask] });
    await fault.stops(agent().run("x"));
    await expect(agent().resume()).resolves.toMatchObject({ output: 'The tool "ask" failed: no x' });
    expect(world.nodes).toEqual(["one"]);

    const second = await storage.open();
    const asked = durableAgent(defaultLoop, second(), {
      tools: [ask],
      turns: [
        { toolCalls: [{ toolName: "ask", input: { topic: "y" } }] },
        (messages) => JSON.stringify(messages.at(-1)?.content),
      ],
    });
    const result = await asked.run("go");
    expect("output" in result && JSON.parse(result.output)).toMatchObject([{ output: "no y", isError: true }]);
  });

  it("that end the run are retried from the failed node", async () => {
    const world = new World();
    const fault = new Fault();
    const ask = called(
      "ask",
      chain("inner", {
        one: (text) => {
          world.nodes.push("one");
          return text;
        },
        two: (text) => {
          world.nodes.push("two");
          fault.strike();
          return text;
        },
      }),
    );
    const outer = chain("outer", { plan: (text, { tools }) => tools.call(ask, { topic: text }) });
    const opened = await storage.open();
    const agent = () => durableAgent(outer, opened(), { tools: [ask] });
    await expect(agent().run("x")).rejects.toMatchObject({ code: "tool_failed", cause: expect.any(Stopped) });
    fault.repair();
    await expect(agent().resume()).resolves.toMatchObject({ output: "x" });
    expect(world.nodes).toEqual(["one", "two", "two"]);
  });

  it("of two calls are retried together", async () => {
    const fault = new Fault();
    const fetch = tool({
      name: "fetch",
      description: "",
      inputSchema: z.object({ topic: z.string() }),
      execute: ({ topic }) => (fault.strike(), topic),
    });
    const ask = called("ask", chain("inner", { one: (topic, { tools }) => tools.call(fetch, { topic }) }), {
      config: { tools: [fetch] },
    });
    const outer = chain("outer", {
      plan: async (text, { tools }) => {
        const asked = ["1", "2"].map((end) => tools.call(ask, { topic: text + end }));
        await Promise.allSettled(asked);
        return String(await Promise.all(asked));
      },
    });
    const opened = await storage.open();
    const agent = () => durableAgent(outer, opened(), { tools: [ask] });
    await expect(agent().run("x")).rejects.toMatchObject({ code: "tool_failed" });
    fault.repair();
    await expect(agent().resume()).resolves.toMatchObject({ output: "x1,x2" });
  });

  it("after a change of strategy advise to roll the caller back to a checkpoint before the call", async () => {
    const fault = new Fault();
    const ask = (node: string) => called("ask", chain("inner", { [node]: (text) => (fault.strike(), text) }));
    const agent = (tool: ReturnType<typeof ask>) =>
      durableAgent(chain("outer", { plan: (text, { tools }) => tools.call(tool, { topic: text }) }), opened(), {
        tools: [tool],
      });
    const opened = await storage.open();
    await expect(agent(ask("one")).run("x")).rejects.toMatchObject({ cause: expect.any(Stopped) as unknown });
    await expect(agent(ask("two")).resume()).rejects.toMatchObject({
      code: "strategy_changed",
      agentPath: ["ask"],
      message: expect.stringMatching(
        /^The agent that tool "ask" of agent "a" calls was stored with another strategy: .*"one".*\. Add a migration to the current strategy, resume with the earlier code that stored it, or roll "a" back to a checkpoint before the call\.$/,
      ) as string,
    });
    const durable = persistence(agent(ask("two"))).agent();
    const before = (await durable.getCheckpoints()).findLast(({ agentPath }) => agentPath.length === 0);
    await durable.rollbackToCheckpoint(before?.checkpointId ?? "");
    fault.repair();
    expect(await agent(ask("two")).resume()).toMatchObject({ output: "x" });
  });

  it("stop the run at a call in doubt, even if caught, until the call is settled", async () => {
    for (const settlement of ["retry", { output: "made" }] as const) {
      const fault = new Fault();
      const stop = new AbortController();
      let made = 0;
      const pay = tool({
        name: "pay",
        description: "",
        inputSchema: z.object({}),
        effect: "irreversible",
        execute: async (_input, { abortSignal }) => {
          made++;
          if (made > 1) return "made";
          stop.abort(new Stopped());
          abortSignal.throwIfAborted();
          return "made";
        },
      });
      const ask = called("ask", chain("inner", { one: (_text, { tools }) => tools.call(pay, {}) }), {
        config: { tools: [pay] },
      });
      const outer = chain("outer", {
        plan: (text, { tools }) =>
          tools.call(ask, { topic: text }).catch((error: unknown) => {
            if (error instanceof Stopped) throw error;
            return message(error);
          }),
      });
      const opened = await storage.open();
      const agent = () => durableAgent(outer, opened(), { tools: [ask] });
      await fault.stops(agent().run("x", { signal: stop.signal }));
      const doubts = await persistence(agent()).agent("a").getToolCallsInDoubt();
      expect(doubts).toMatchObject([{ toolName: "pay" }]);
      await expect(agent().resume()).rejects.toBeInstanceOf(ToolCallInDoubtError);
      // It stays in doubt: nothing was recorded of the call that the agent runs for.
      await expect(agent().resume()).rejects.toBeInstanceOf(ToolCallInDoubtError);
      await persistence(agent())
        .agent("a")
        .settleToolCall(doubts[0]?.toolCallId ?? "", settlement);
      await expect(agent().resume()).resolves.toMatchObject({ output: "made" });
      expect(made).toBe(settlement === "retry" ? 2 : 1);
    }
  });

  it("stop the run with divergence if a node does not repeat its calls", async () => {
    const world = new World();
    const book = world.adder("book");
    const fault = new Fault();
    let calls = 1;
    const inner: NodeBody = async (text, { tools }) => {
      for (let at = 0; at < calls; at++) await tools.call(book, { item: `${text} ${at}` });
      fault.strike();
      return text;
    };
    const ask = called("ask", chain("inner", { one: inner }), { config: { tools: [book] } });
    const outer = chain("outer", {
      plan: (text, { tools }) => tools.call(ask, { topic: text }),
    });
    const opened = await storage.open();
    const agent = () => durableAgent(outer, opened(), { tools: [ask] });
    await expect(agent().run("x")).rejects.toMatchObject({ cause: expect.any(Stopped) });
    fault.repair();
    calls = 0;
    await expect(agent().resume()).rejects.toBeInstanceOf(ReplayDivergedError);
    await expect(agent().resume()).rejects.toBeInstanceOf(ReplayDivergedError);
    calls = 1;
    await expect(agent().resume()).resolves.toMatchObject({ output: "x" });
    expect(world.executed).toHaveLength(1);
  });
});

/** Two agents with a tool of one name, and inverses of their own. */
function namesakes(world: World, act: (node: string, context: AgentContext) => unknown) {
  const agentOf = (name: string) => {
    const book = world.adder("book");
    const registry = new RollbackToolRegistry().registerRollback(book, ({ item }, { toolCallId }) =>
      world.remove(toolCallId, `${name}: ${item}`),
    );
    const visit =
      (node: string): NodeBody =>
      async (text, context) => {
        world.nodes.push(`${name} ${node}`);
        await context.tools.call(book, { item: `${name} ${node}` });
        // The result of a move is no output.
        return ((await act(`${name} ${node}`, context)) ?? text) as string;
      };
    return called(name, chain(name, { one: visit("one"), two: visit("two") }), {
      config: { tools: [book] },
      persistence: { rollbackToolRegistry: registry },
    });
  };
  const [left, right] = [agentOf("left"), agentOf("right")];
  const outer = chain("outer", {
    first: (text) => text,
    plan: async (text, { tools }) => {
      world.nodes.push("plan");
      return `${await tools.call(left, { topic: text })} ${await tools.call(right, { topic: text })}`;
    },
    end: async (text, context) => ((await act("end", context)) ?? text) as string,
  });
  return { outer, options: { tools: [left, right] } };
}

const all = ["left one", "left two", "right one", "right two"];

const idAt = async (context: AgentContext, node: string, path: readonly string[] = []) =>
  (await persistence(context).getCheckpoints()).findLast(
    ({ nodeId, agentPath }) => nodeId === node && agentPath.join() === path.join(),
  )?.checkpointId ?? "none";

describe.each(logStorages)("$name: rollbacks of called agents", (storage) => {
  it("revert their calls, newest first, with each agent's inverses, and start the agents again", async () => {
    const world = new World();
    let moves = 0;
    let report: RollbackReport | undefined;
    const { outer, options } = namesakes(world, async (node, context) => {
      if (node !== "end" || moves++ > 0) return undefined;
      return (report = await persistence(context).rollbackToCheckpoint(await idAt(context, "plan")));
    });
    const opened = await storage.open();
    await expect(durableAgent(outer, opened(), options).run("x")).resolves.toMatchObject({ output: "x x" });
    expect(report?.reverted.map(({ input }) => (input as { item: string }).item)).toEqual(all.toReversed());
    expect(world.done.filter((each) => each.startsWith("undo"))).toEqual([
      "undo right: right two",
      "undo right: right one",
      "undo left: left two",
      "undo left: left one",
    ]);
    expect(world.items).toEqual(all);
    expect(world.nodes.filter((node) => node === "left one")).toHaveLength(2);
  });

  it("have the same result from another process", async () => {
    const world = new World();
    const { outer, options } = namesakes(world, () => undefined);
    const opened = await storage.open();
    const agent = () => durableAgent(outer, opened(), options);
    await agent().run("x");
    const outside = persistence(agent()).agent("a");
    const target = (await outside.getCheckpoints()).find(
      ({ nodeId, agentPath }) => nodeId === "plan" && agentPath.length === 0,
    );
    const report = await outside.rollbackToCheckpoint(target?.checkpointId ?? "none");
    expect(report.reverted).toHaveLength(4);
    expect(world.items).toEqual([]);
    await expect(agent().resume()).resolves.toMatchObject({ output: "x x" });
    expect(world.items).toEqual(all);
  });

  it("within a called agent go to its checkpoint, even after a crash at any append", async () => {
    for (let saves = 0, isOver = false; !isOver; saves += every(3, 1)) {
      const world = new World();
      let moves = 0;
      const { outer, options } = namesakes(world, async (node, context) => {
        if (node !== "right two" || moves++ > 0) return undefined;
        return persistence(context).rollbackToCheckpoint(await idAt(context, "one", ["right"]));
      });
      const opened = await storage.open();
      isOver = await durableAgent(outer, crashAfter(opened(), saves), { ...options, onToolCallInDoubt: "retry" })
        .run("x", { runId: "r" })
        .then(
          () => true,
          () => false,
        );
      const agent = durableAgent(outer, opened(), { ...options, onToolCallInDoubt: "retry" });
      const doubts = await persistence(agent).agent("a").getToolCallsInDoubt();
      for (const { toolCallId } of doubts) await persistence(agent).agent("a").settleToolCall(toolCallId, "retry");
      await expect(agent.run("x", { runId: "r" }), `after ${saves}`).resolves.toMatchObject({ output: "x x" });
      expect(world.items).toEqual(all);
    }
  });

  it("within a called agent to a checkpoint of its caller wait until the other agent ends", async () => {
    const world = new World();
    let moves = 0;
    const { outer, options } = namesakes(world, async (node, context) => {
      if (node !== "right two" || moves++ > 0) return undefined;
      return persistence(context).rollbackToCheckpoint(await idAt(context, "first"));
    });
    const opened = await storage.open();
    await expect(durableAgent(outer, opened(), options).run("x")).resolves.toMatchObject({ output: "x x" });
    expect(world.undone).toHaveLength(4);
    expect(world.items).toEqual(all);
  });

  it("refuse a checkpoint of a called agent, whose setExecutionPoint accepts only its nodes", async () => {
    const world = new World();
    const refused: unknown[] = [];
    let moves = 0;
    const { outer, options } = namesakes(world, async (node, context) => {
      const tried = async (move: Promise<unknown>) =>
        refused.push(await move.catch((error: unknown) => (error as { readonly code?: unknown }).code));
      if (node === "end") await tried(persistence(context).rollbackToCheckpoint(await idAt(context, "two", ["left"])));
      if (node !== "left one" || moves++ > 0) return undefined;
      await tried(persistence(context).setExecutionPoint({ nodeId: "plan", input: "y" }));
      return persistence(context).setExecutionPoint({ nodeId: "two", input: "jumped" });
    });
    const opened = await storage.open();
    await expect(durableAgent(outer, opened(), options).run("x")).resolves.toMatchObject({ output: "jumped x" });
    expect(refused).toEqual(["unknown_node", "not_an_ancestor"]);
  });

  it("from a caller without a checkpoint cannot go to a checkpoint of a called agent", async () => {
    const world = new World();
    const ask = called("ask", chain("inner", { one: (text) => text }));
    const book = world.adder("book", "idempotent");
    const refused: unknown[] = [];
    const outer = chain("outer", {
      plan: async (text, context) => {
        await context.tools.call(book, { item: "paper" });
        await context.tools.call(ask, { topic: text });
        const [within] = await persistence(context).getCheckpoints();
        const move = persistence(context).rollbackToCheckpoint(within?.checkpointId ?? "none");
        refused.push(await move.catch((error: unknown) => error));
        return text;
      },
    });
    const opened = await storage.open();
    const agent = durableAgent(outer, opened(), { tools: [ask, book], automatic: false });
    await expect(agent.run("x")).resolves.toMatchObject({ output: "x" });
    expect(refused).toMatchObject([{ code: "not_an_ancestor", available: [] }]);
    expect(world.executed).toHaveLength(1);
  });

  it("from outside go to a checkpoint of a called agent only while the agent is unfinished", async () => {
    const world = new World();
    const fault = new Fault();
    const { outer, options } = namesakes(world, (node) => {
      if (node === "right two") fault.strike();
    });
    const opened = await storage.open();
    const agent = () => durableAgent(outer, opened(), options);
    await expect(agent().run("x")).rejects.toMatchObject({ cause: expect.any(Stopped) });
    const outside = persistence(agent()).agent("a");
    const twos = (await outside.getCheckpoints()).filter(({ nodeId }) => nodeId === "two");
    const idOf = (name: string) => twos.find(({ agentPath }) => agentPath.join() === name)?.checkpointId ?? "none";
    await expect(outside.rollbackToCheckpoint(idOf("left"))).rejects.toMatchObject({ code: "not_an_ancestor" });
    const { reverted } = await outside.rollbackToCheckpoint(idOf("right"));
    expect(reverted.map(({ input }) => (input as { item: string }).item)).toEqual(["right two"]);
    fault.repair();
    await expect(agent().resume()).resolves.toMatchObject({ output: "x x" });
    expect(world.items).toEqual(all);
  });

  it("to a checkpoint within the calling node revert a waiting called agent completely", async () => {
    const world = new World();
    const book = world.adder("book");
    const registry = new RollbackToolRegistry().registerRollback(book, ({ item }, { toolCallId }) =>
      world.remove(toolCallId, item),
    );
    let begun = gate();
    const ask = called(
      "ask",
      chain("inner", {
        one: async (text, { tools }) => {
          await tools.call(book, { item: text });
          begun.open();
          return text;
        },
        two: (_text, context) => context.requestInput({ prompt: "Go on?", schema: z.string() }),
      }),
      { config: { tools: [book] }, persistence: { rollbackToolRegistry: registry } },
    );
    const outer = chain("outer", {
      plan: async (text, context) => {
        const save = begun.opened.then(() => persistence(context).createCheckpoint({ checkpointId: "within" }));
        const [found] = await Promise.all([context.tools.call(ask, { topic: text }), save]);
        return found;
      },
    });
    const opened = await storage.open();
    const agent = () => durableAgent(outer, opened(), { tools: [ask] });
    await expect(agent().run("x")).resolves.toMatchObject({ status: "waiting" });
    const outside = persistence(agent()).agent("a");
    const { reverted } = await outside.rollbackToCheckpoint("within");
    expect(reverted).toMatchObject([{ toolName: "book" }]);
    expect(world.items).toEqual([]);
    begun = gate();
    await expect(agent().resume()).resolves.toMatchObject({ status: "waiting" });
    const [request] = await outside.getRequests();
    await outside.answer(request?.requestId ?? "none", "yes");
    await expect(agent().resume()).resolves.toMatchObject({ output: "yes" });
    expect(world.items).toEqual(["x"]);
  });

  it("to a checkpoint within the calling node let a called agent continue after another stop", async () => {
    const world = new World();
    let [stop, begun] = [new AbortController(), gate()];
    const ask = called(
      "ask",
      chain("inner", {
        one: (text) => {
          world.nodes.push("one");
          begun.open();
          return text;
        },
        two: (text, { signal }) => {
          world.nodes.push("two");
          stop.abort(new Stopped());
          signal.throwIfAborted();
          return text;
        },
      }),
    );
    const outer = chain("outer", {
      plan: async (text, context) => {
        const save = begun.opened.then(() => persistence(context).createCheckpoint({ checkpointId: "within" }));
        const [found] = await Promise.all([context.tools.call(ask, { topic: text }), save]);
        return found;
      },
    });
    const opened = await storage.open();
    const agent = () => durableAgent(outer, opened(), { tools: [ask] });
    const stopped = async (run: (signal: AbortSignal) => Promise<unknown>) => {
      [stop, begun] = [new AbortController(), gate()];
      await expect(run(stop.signal)).rejects.toBeInstanceOf(Stopped);
    };
    await stopped((signal) => agent().run("x", { signal }));
    await persistence(agent()).agent("a").rollbackToCheckpoint("within");
    await stopped((signal) => agent().resume({ signal }));
    const [line] = (await persistence(agent()).agent("a").getLatestCheckpoint())?.branches ?? [];
    expect(line).toMatchObject({ nodeId: "two" });
    stop = new AbortController();
    await expect(agent().resume()).resolves.toMatchObject({ output: "x" });
    expect(world.nodes).toEqual(["one", "two", "one", "two", "two"]);
  });

  it("and resumes accept requested checkpoints of a called agent, which show its path", async () => {
    const world = new World();
    const fault = new Fault();
    const { outer, options } = namesakes(world, async (node, context) => {
      if (node !== "left two") return undefined;
      const made = await persistence(context).createCheckpoint({ checkpointId: "mine" });
      expect(made).toMatchObject({ nodeId: "two", agentPath: ["left"] });
      fault.strike();
    });
    const opened = await storage.open();
    const agent = () => durableAgent(outer, opened(), options);
    await expect(agent().run("x")).rejects.toMatchObject({ cause: expect.any(Stopped) });
    const outside = persistence(agent()).agent("a");
    const mine = (await outside.getCheckpoints()).find(({ checkpointId }) => checkpointId === "mine");
    expect(mine).toMatchObject({ nodeId: "two", lastInput: "x", agentPath: ["left"] });
    expect(await outside.getLatestCheckpoint()).toMatchObject({ branches: [{ nodeId: "two" }] });
    expect(await outside.validateCheckpoint("mine")).toMatchObject({ valid: true });
    expect(await outside.validateCheckpoint()).toMatchObject({ valid: true });
    fault.repair();
    await expect(agent().resume({ checkpointId: "mine" })).resolves.toMatchObject({ output: "x x" });
    expect(world.items).toEqual(all);
  });
});
