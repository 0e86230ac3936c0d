import {
  type AgentContext,
  type AIAgent,
  type DurableAgent,
  persistence,
  type PersistenceEvent,
  type PendingRequest,
  RollbackToolRegistry,
  strategy,
  tool,
  triggers,
} from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate } from "../../agent/gate.ts";
import { asking, requestsOf } from "../support/asking.ts";
import { durableAgent, type DurableOptions } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

type Agent = () => AIAgent<string, string>;

const question = (prompt: string) => ({ prompt, schema: z.boolean() });
const turns = [
  {
    toolCalls: [
      { toolName: "book", input: { item: "table" } },
      { toolName: "pay", input: { item: "bill" } },
    ],
  },
];

/** Booking needs no approval, and paying does. */
function toolsOf(world: World) {
  const pay = tool({
    name: "pay",
    description: "",
    inputSchema: z.object({ item: z.string() }),
    effect: "irreversible",
    needsApproval: true,
    execute: ({ item }, options) => world.add(item, options, "pay"),
  });
  return [world.adder("book"), pay];
}

async function execute({ llm, tools }: AgentContext): Promise<void> {
  const answer = await llm.request();
  llm.append(answer, await tools.execute(answer));
}

const answersTo = (requests: readonly PendingRequest[], prompt: string) =>
  Object.fromEntries(
    requests.flatMap((each) =>
      each.prompt === prompt ? [[each.requestId, each.kind === "approval" ? { approved: true } : true]] : [],
    ),
  );

/** Answers one request of an agent, goes on, and says what it asks next. */
async function answered(agent: Agent, { agentId }: DurableAgent, prompt: string): Promise<readonly string[]> {
  const requests = await persistence(agent()).agent(agentId).getRequests();
  const result = await agent().resume({ agentId, answers: answersTo(requests, prompt) });
  return result.status === "waiting" ? promptsOf(result.requests) : [];
}

const promptsOf = (requests: readonly PendingRequest[]): readonly string[] =>
  requests.map(({ prompt }) => prompt).sort();

const approval = 'Approve the call of tool "pay"?';

describe.each(logStorages)("$name: a model's call that another line made", (storage) => {
  async function begun(
    world: World,
    options: DurableOptions = {},
    before?: (context: AgentContext) => Promise<unknown>,
  ) {
    const opened = await storage.open();
    const built = asking(async (_, context) => {
      await before?.(context);
      await execute(context);
      return `${await context.requestInput(question("ok?"))}`;
    });
    const agent: Agent = () => durableAgent(built, opened(), { tools: toolsOf(world), turns, ...options });
    await agent().run("go");
    return { agent, durable: persistence(agent()).agent("a") };
  }

  it.each([true, false])("is not repeated by a fork of the fork that made it (automatic: %s)", async (automatic) => {
    const world = new World();
    const { agent, durable } = await begun(world, { automatic });
    const b = await durable.fork("b");
    expect(await answered(agent, b, approval)).toEqual(["ok?"]);
    const c = await b.fork("c");
    expect(await answered(agent, c, "ok?")).toEqual([]);
    expect(world.items).toEqual(["bill", "table"]);
  });

  it("is not repeated by a fork of an agent that made it after a rollback", async () => {
    const world = new World();
    const registry = new RollbackToolRegistry();
    for (const each of toolsOf(world))
      registry.registerRollback(each, ({ item }, { toolCallId }) => world.remove(toolCallId, item));
    const { agent, durable } = await begun(world, { registry, triggers: [triggers.contextDelta({ bytes: 1 })] });
    const checkpoints = await durable.getCheckpoints();
    expect(await answered(agent, durable, approval)).toEqual(["ok?"]);
    const withAnswer = checkpoints.find(({ trigger }) => trigger === "context_delta");
    await durable.rollbackToCheckpoint(withAnswer?.checkpointId ?? "none");
    await agent().resume();
    expect(await answered(agent, durable, approval)).toEqual(["ok?"]);
    expect(world.items).toEqual(["bill", "table"]);
    const b = await durable.fork("b");
    expect(await answered(agent, b, "ok?")).toEqual([]);
    expect(world.items).toEqual(["bill", "table"]);
  });

  it.each([
    ["none", "model"],
    ["none", "code"],
    ["irreversible", "model"],
    ["irreversible", "code"],
  ] as const)(
    "is not repeated by a fork of the fork, where a tool with effect %s made it for a %s",
    async (effect, by) => {
      const world = new World();
      const opened = await storage.open();
      const [book, pay] = toolsOf(world);
      const shop = tool({
        name: "shop",
        description: "",
        inputSchema: z.object({}),
        effect,
        execute: async (_, { context }) => {
          if (by === "model") await execute(context);
          else
            for (const [made, item] of [
              [book, "table"],
              [pay, "bill"],
            ] as const)
              await context.tools.call(made as never, { item } as never);
          return context.requestInput(question("ok?"));
        },
      });
      const built = asking(async (_, { tools }) => `${await tools.call(shop, {})}`);
      const agent: Agent = () => durableAgent(built, opened(), { tools: [shop, ...toolsOf(world)], turns });
      await agent().run("go");
      const b = await persistence(agent()).agent("a").fork("b");
      expect(await answered(agent, b, approval)).toEqual(["ok?"]);
      const c = await b.fork("c");
      expect(await answered(agent, c, "ok?")).toEqual([]);
      expect(world.items).toEqual(["bill", "table"]);
    },
  );

  it.each(["approval", "question"] as const)(
    "waits for one %s in a fork if tools without effects call each other",
    async (kind) => {
      const world = new World();
      const opened = await storage.open();
      const [, pay] = toolsOf(world);
      const calling = (name: string, execute: (context: AgentContext) => Promise<unknown>) =>
        tool({
          name,
          description: "",
          inputSchema: z.object({}),
          effect: "none",
          execute: (_, { context }) => execute(context),
        });
      const inner = calling("inner", (context) =>
        kind === "question"
          ? context.requestInput(question(approval))
          : context.tools.call(pay as never, { item: "bill" } as never),
      );
      const outer = calling("outer", ({ tools }) => tools.call(inner, {}));
      const built = asking(async (_, { tools }) => String(await tools.call(outer, {})));
      const agent: Agent = () => durableAgent(built, opened(), { tools: [outer, inner, pay as never] });
      await agent().run("go");
      const b = await persistence(agent()).agent("a").fork("b");
      const c = await b.fork("c");
      for (const fork of [c, b]) expect(await answered(agent, fork, approval)).toEqual([]);
    },
  );

  it("is not repeated by a branch of a branch", async () => {
    const world = new World();
    const opened = await storage.open();
    const asked = gate();
    const built = strategy<string, string>("beside", (graph) => {
      const ask = graph.node("ask", async (_: string, context) => {
        await execute(context);
        return `${await context.requestInput(question("ok?"))}`;
      });
      const work = graph.subgraph<string, string>("work", (inner) => {
        const one = inner.node("one", (text: string) => asked.opened.then(() => text));
        const two = inner.node("two", async (_: string, context) => `${await context.requestInput(question("two?"))}`);
        const three = inner.node(
          "three",
          async (_: string, context) => `${await context.requestInput(question("three?"))}`,
        );
        inner.edge(inner.start, one);
        inner.edge(one, two);
        inner.edge(two, three);
        inner.edge(three, inner.finish);
      });
      const both = graph.parallel("both", { ask, work }, () => "done");
      graph.edge(graph.start, both);
      graph.edge(both, graph.finish);
    });
    const onEvent = ({ type }: PersistenceEvent) => {
      if (type === "request_opened") asked.open();
    };
    const agent: Agent = () => durableAgent(built, opened(), { tools: toolsOf(world), turns, onEvent });
    const durable = persistence(agent()).agent("a");
    const branchAt = async (node: string) => {
      const at = (await durable.getCheckpoints()).find(({ nodeId }) => nodeId === node)?.checkpointId ?? "none";
      return promptsOf(requestsOf(await agent().resume({ checkpointId: at })));
    };
    await agent().run("go");
    expect(await branchAt("work/two")).toEqual([approval, "two?"]);
    expect(await answered(agent, durable, approval)).toEqual(["ok?", "two?"]);
    expect(await answered(agent, durable, "two?")).toEqual(["ok?", "three?"]);
    expect(await branchAt("work/three")).toEqual(["ok?", "three?"]);
    await answered(agent, durable, "ok?");
    expect(await answered(agent, durable, "three?")).toEqual([]);
    expect(world.items).toEqual(["bill", "table"]);
  });
});
