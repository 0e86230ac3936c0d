import {
  AIAgent,
  type AgentContext,
  Persistence,
  persistence,
  RollbackToolRegistry,
  strategy,
} from "agent-persistence";
import { crashAfter, scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { falseIfCrash } from "../support/causesOf.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

interface Behavior {
  readonly asks?: boolean;
  readonly after?: (context: AgentContext) => unknown;
}

/** A chief that calls a researcher twice at once; the researcher books something in each of two nodes. */
function calling(world: World, { asks = false, after }: Behavior = {}) {
  const book = world.adder("book");
  const order = world.adder("order");
  const undo = new RollbackToolRegistry().registerRollback(book, ({ item }, { toolCallId }) =>
    world.remove(toolCallId, item),
  );
  const step = (name: string) => async (topic: string, context: AgentContext) => {
    world.nodes.push(`${name} ${topic}`);
    await context.tools.call(book, { item: `${name} ${topic}` });
    context.llm.append({ role: "user", content: `${name} ${topic}` });
    if (asks && name === "look") await context.requestInput({ prompt: `${topic}?`, schema: z.boolean() });
    return topic;
  };
  const research = strategy<string, string>("research", (graph) => {
    const look = graph.node("look", step("look"));
    const write = graph.node("write", async (topic: string, context: AgentContext) => {
      await step("write")(topic, context);
      return context.llm.messages.map(({ content }) => (typeof content === "string" ? content : "")).join("; ");
    });
    graph.edge(graph.start, look);
    graph.edge(look, write);
    graph.edge(write, graph.finish);
  });
  const researcher = new AIAgent({
    llmModel: "m",
    promptExecutor: scriptedModel([]),
    strategy: research,
    tools: [book],
    systemPrompt: "research",
  }).install(Persistence, { rollbackToolRegistry: undo });
  const ask = researcher.asTool({
    name: "research",
    description: "",
    inputSchema: z.object({ topic: z.string() }),
    input: ({ topic }) => topic,
  });
  const chief = strategy<string, string>("chief", (graph) => {
    const plan = graph.node("plan", async (topic: string, context: AgentContext) => {
      world.nodes.push("plan");
      await context.tools.call(order, { item: "paper" });
      const found = await Promise.all([
        context.tools.call(ask, { topic }),
        context.tools.call(ask, { topic: `${topic}, again` }),
      ]);
      return found.join(" | ");
    });
    const end = graph.node("end", async (text: string, context: AgentContext): Promise<string> => {
      world.nodes.push("end");
      // The result of a move is no output.
      return ((await after?.(context)) ?? text) as string;
    });
    graph.edge(graph.start, plan);
    graph.edge(plan, end);
    graph.edge(end, graph.finish);
  });
  const registry = new RollbackToolRegistry().registerRollback(order, ({ item }, { toolCallId }) =>
    world.remove(toolCallId, item),
  );
  return { chief, options: { tools: [ask, order], registry } };
}

const output = "research; look x; write x | research; look x, again; write x, again";
const items = ["look x", "look x, again", "paper", "write x", "write x, again"];

describe.each(logStorages)("$name: agents as tools", (storage) => {
  it("run with separate histories, and continue after a crash at any append", async () => {
    for (let saves = 0, isOver = false; !isOver; saves++) {
      const world = new World();
      const { chief, options } = calling(world);
      const opened = await storage.open();
      isOver = await durableAgent(chief, crashAfter(opened(), saves), options)
        .run("x", { runId: "r" })
        .then(() => true, falseIfCrash);
      const doubts = await persistence(durableAgent(chief, opened(), options))
        .agent("a")
        .getToolCallsInDoubt();
      for (const { toolCallId } of doubts)
        await persistence(durableAgent(chief, opened(), options))
          .agent("a")
          .settleToolCall(toolCallId, "retry");
      const result = await durableAgent(chief, opened(), options).run("x", { runId: "r" });
      expect(result, `after ${saves} appends`).toMatchObject({ output });
      expect(world.items).toEqual(items);
    }
  });

  it("are reverted with their calls, newest first, by each agent's inverses", async () => {
    const world = new World();
    let moves = 0;
    const { chief, options } = calling(world, {
      after: async (context) => {
        if (moves++ > 0) return undefined;
        const [first] = await persistence(context).getCheckpoints();
        return persistence(context).rollbackToCheckpoint(first?.checkpointId ?? "none");
      },
    });
    const opened = await storage.open();
    expect(await durableAgent(chief, opened(), options).run("x")).toMatchObject({ output });
    expect(world.items).toEqual(items);
    expect(world.undone).toHaveLength(5);
    expect(world.done.findLast((each) => each.startsWith("undo"))).toBe("undo paper");
  });

  it("wait independently, are listed with their path, and continue when answered", async () => {
    const world = new World();
    const { chief, options } = calling(world, { asks: true });
    const opened = await storage.open();
    const agent = () => durableAgent(chief, opened(), options);
    const first = await agent().run("x", { runId: "r" });
    expect(first).toMatchObject({
      status: "waiting",
      requests: [
        { nodeId: "look", agentPath: ["research"], prompt: "x?" },
        { nodeId: "look", agentPath: ["research"], prompt: "x, again?" },
      ],
    });
    const [one, two] = await persistence(agent()).agent("a").getRequests();
    await persistence(agent()).answer(two?.requestId ?? "", true);
    expect(await agent().resume()).toMatchObject({ status: "waiting", requests: [{ requestId: one?.requestId }] });
    expect(await agent().resume({ answers: { [one?.requestId ?? ""]: true } })).toMatchObject({ output });
    expect(world.items).toEqual(items);
    expect(world.nodes.filter((node) => node === "write x, again")).toHaveLength(1);
  });
});
