import {
  callModel,
  callTools,
  hasToolCalls,
  storageKey,
  strategy,
  textOf,
  tool,
  ToolFailedError,
  type AgentContext,
  type AIAgent,
  type PersistenceStorageProvider,
  type PromptExecutor,
  type ToolEffect,
} from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";
import { durableAgent } from "./durableAgent.ts";
import type { World } from "./World.ts";

/** Agents whose whole run is known, each for another way of having effects. */
export interface Scenario {
  readonly name: string;
  readonly build: (
    world: World,
    storage: PersistenceStorageProvider,
    options: ScenarioOptions,
  ) => AIAgent<string, string>;
}

export interface ScenarioOptions {
  readonly effect: ToolEffect;
  readonly ids: "repeating" | "unique";
  /** Default true. */
  readonly automatic?: boolean;
}

const visits = storageKey("visits", z.number());

/** Three rounds of parallel tool calls asked for by the model. */
const loop: Scenario = {
  name: "model and tools in a loop",
  build(world, storage, { effect, ids, automatic = true }) {
    const graph = strategy<string, string>("loop", (g) => {
      const ask = g.node("callModel", (input: Parameters<typeof callModel>[0], context) => {
        world.nodes.push("callModel");
        return callModel(input, context);
      });
      const act = g.node("callTools", (input: Parameters<typeof callTools>[0], context) => {
        world.nodes.push("callTools");
        context.storage.set(visits, (context.storage.get(visits) ?? 0) + 1);
        return callTools(input, context);
      });
      g.edge(g.start, ask);
      g.edge(ask, act, { when: hasToolCalls });
      g.edge(act, ask);
      g.edge(ask, g.finish, { when: (message) => !hasToolCalls(message), map: textOf });
    });
    const call = (toolName: string, item: string) => ({ toolName, input: { item } });
    const turns = [
      { toolCalls: [call("book", "a1"), call("book", "a2"), call("look", "a3")] },
      { text: "and now", toolCalls: [call("broken", "b1"), call("book", "b2"), call("none", "b3")] },
      { toolCalls: [call("look", "c1"), call("book", "c2"), call("book", "c3")] },
      "done",
    ];
    const tools = [world.adder("book", effect), world.adder("look", "none"), world.failing("broken", effect)];
    return durableAgent(graph, storage, { model: scriptedModel(turns, { toolCallIds: ids }), tools, automatic });
  },
};

/** Calls made by code, in a loop through a subgraph. */
const code: Scenario = {
  name: "calls of node code in subgraphs",
  build(world, storage, { effect, automatic = true }) {
    const book = world.adder("book", effect);
    const look = world.adder("look", "none");
    const broken = world.failing("broken", effect);
    const graph = strategy<string, string>("code", (g) => {
      const inner = g.subgraph<number, number>("round", (r) => {
        const pair = r.node("pair", async (round: number, context: AgentContext) => {
          world.nodes.push("round/pair");
          const made = await Promise.all([
            context.tools.call(book, { item: `left ${round}` }),
            context.tools.call(book, { item: `right ${round}` }),
            context.tools.call(look, { item: `seen ${round}` }),
          ]);
          context.llm.append({ role: "user", content: made.map((one) => one.made).join() });
          return round;
        });
        const deep = r.subgraph<number, number>("deep", (d) => {
          const single = d.node("single", async (round: number, context: AgentContext) => {
            world.nodes.push("round/deep/single");
            const failure: unknown = await context.tools
              .call(broken as typeof book, { item: `no ${round}` })
              .catch((error: unknown) => error);
            if (!(failure instanceof ToolFailedError)) throw failure;
            context.recordDecision({ decision: `skip ${round}`, reason: failure.reason });
            context.setProgress(round * 30);
            await context.tools.call(book, { item: `after ${round}` });
            return round + 1;
          });
          d.edge(d.start, single);
          d.edge(single, d.finish);
        });
        r.edge(r.start, pair);
        r.edge(pair, deep);
        r.edge(deep, r.finish);
      });
      g.edge(g.start, inner, { map: () => 1 });
      g.edge(inner, inner, { when: (round) => round <= 3 });
      g.edge(inner, g.finish, { map: (round) => `rounds: ${round}` });
    });
    return durableAgent(graph, storage, { tools: [book, look, broken], automatic });
  },
};

/** A tool that asks the model and calls tools itself. Its own call may be repeated; what it calls is recorded by itself. */
const nested: Scenario = {
  name: "tools that call tools and models",
  build(world, storage, { effect, ids, automatic = true }) {
    const book = world.adder("book", effect);
    const plan = tool({
      name: "plan",
      description: "",
      inputSchema: z.object({ item: z.string() }),
      effect: "idempotent",
      execute: async ({ item }, { context, toolCallId }) => {
        const answer = await context.llm.request();
        const results = await context.tools.execute(answer);
        const extra = await context.tools.call(book, { item: `extra ${item}` });
        world.add(item, { toolCallId }, "plan");
        return { results: results.content.length, extra };
      },
    });
    const graph = strategy<string, string>("nested", (g) => {
      const both = g.node("both", async (_input: string, context: AgentContext) => {
        world.nodes.push("both");
        const done = await Promise.all([
          context.tools.call(plan, { item: "p1" }),
          context.tools.call(plan, { item: "p2" }),
        ]);
        context.llm.append({ role: "assistant", content: "planned" });
        return JSON.stringify(done);
      });
      const more = g.node("more", async (input: string, context: AgentContext) => {
        world.nodes.push("more");
        await context.tools.call(plan, { item: "p3" });
        return input;
      });
      g.edge(g.start, both);
      g.edge(both, more);
      g.edge(more, g.finish);
    });
    const turns = [1, 2].map((at) => ({
      toolCalls: [1, 2].map((n) => ({ toolName: "book", input: { item: `m${at}${n}` } })),
    }));
    return durableAgent(graph, storage, {
      model: scriptedModel(turns, { toolCallIds: ids }),
      tools: [book, plan],
      automatic,
    });
  },
};

export const scenarios: readonly Scenario[] = [loop, code, nested];

/** The scripted model with another answer each time it is asked, as a real model is: only recorded answers repeat. */
export function countingModel(): PromptExecutor & { readonly asked: () => number } {
  let asked = 0;
  return {
    asked: () => asked,
    execute: async () => ({ message: { role: "assistant", content: `answer ${++asked}` } }),
  };
}
