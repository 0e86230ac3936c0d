import {
  type AgentContext,
  type AIAgent,
  type PendingRequest,
  persistence,
  type RunResult,
  strategy,
} from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { called, chain } from "../support/calledAgents.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

type Agent = () => AIAgent<string, string>;

const question = { prompt: "ok?", schema: z.boolean() };

const openIn = (result: RunResult<unknown>): readonly PendingRequest[] =>
  result.status === "waiting" ? result.requests : [];

async function answered(agent: Agent, result: RunResult<unknown>, answer: unknown): Promise<RunResult<unknown>> {
  const answers = Object.fromEntries(openIn(result).map(({ requestId }) => [requestId, answer]));
  return agent().resume({ answers });
}

async function idOf(agent: Agent, nodeId: string): Promise<string> {
  const checkpoints = await persistence(agent()).agent("a").getCheckpoints();
  return checkpoints.find((checkpoint) => checkpoint.nodeId === nodeId)?.checkpointId ?? "none";
}

/** One branch asks, the other books twice and ends. */
function askingBeside(world: World) {
  const book = world.adder("book");
  const node = (name: string) => async (text: string, context: AgentContext) => {
    world.nodes.push(name);
    await context.tools.call(book, { item: name });
    return `${text} ${name}`;
  };
  const built = strategy<string, string>("beside", (graph) => {
    const ask = graph.node("ask", async (_: string, context: AgentContext) => {
      await node("ask")("", context);
      return `asked ${await context.requestInput(question)}`;
    });
    const work = graph.subgraph<string, string>("work", (inner) => {
      const one = inner.node("one", node("one"));
      const two = inner.node("two", node("two"));
      inner.edge(inner.start, one);
      inner.edge(one, two);
      inner.edge(two, inner.finish);
    });
    const both = graph.parallel("both", { ask, work }, ({ ask: asked, work: worked }) => `${asked} | ${worked}`);
    graph.edge(graph.start, both);
    graph.edge(both, graph.finish);
  });
  return { built, options: { tools: [book] } };
}

describe.each(logStorages)("$name: a resume from an earlier checkpoint", (storage) => {
  it("of a branch restores the sibling branch, which waits again and repeats no call", async () => {
    const world = new World();
    const { built, options } = askingBeside(world);
    const opened = await storage.open();
    const agent = () => durableAgent(built, opened(), options);
    const first = await agent().run("go");
    const back = await agent().resume({ checkpointId: await idOf(agent, "work/two") });
    expect(openIn(back)).toMatchObject([{ branch: "both#ask", nodeId: "ask" }]);
    expect(openIn(back)[0]?.requestId).not.toBe(openIn(first)[0]?.requestId);
    expect(world.nodes.toSorted()).toEqual(["ask", "one", "two", "two", "ask"].toSorted());
    // The branch asked before it had its turn: its call was made once.
    expect(world.items).toEqual(["ask", "one", "two", "two"]);
    const end = await answered(agent, back, true);
    expect(end).toMatchObject({ status: "completed", output: "asked true | go one two" });
    expect(world.items).toEqual(["ask", "one", "two", "two"]);
  });

  it("restores branches joined since, and does not run finished branches again", async () => {
    const world = new World();
    const { built, options } = askingBeside(world);
    const opened = await storage.open();
    const agent = () => durableAgent(built, opened(), options);
    await answered(agent, await agent().run("go"), true);
    const ended = (await persistence(agent()).agent("a").getCheckpoints()).find(
      ({ branch, nodeId }) => branch === "both#work" && nodeId === "finish",
    );
    world.nodes.length = 0;
    const back = await agent().resume({ checkpointId: ended?.checkpointId ?? "none" });
    expect(await answered(agent, back, false)).toMatchObject({ output: "asked false | go one two" });
    expect(world.nodes.filter((name) => name !== "ask")).toEqual([]);
    expect(world.items).toEqual(["ask", "one", "two"]);
  });

  it.each([
    ["continues the called agent and its open request", false],
    ["restarts the called agent from its state at that time, even if it has finished since", true],
  ])("of the caller %s", async (_how, hasEnded) => {
    const world = new World();
    const book = world.adder("book");
    const research = chain("research", {
      gather: async (topic, context) => {
        world.nodes.push("gather");
        await context.tools.call(book, { item: topic });
        return topic;
      },
      check: async (topic, context) => `${topic} ${await context.requestInput(question)}`,
    });
    const ask = called("research", research, { config: { tools: [book] } });
    const built = chain("chief", {
      lead: async (_, context) => {
        const asked = context.tools.call(ask, { topic: "x" });
        const saved = asked.catch(() => undefined);
        await context.tools.call(book, { item: "beside" });
        await saved;
        return asked;
      },
    });
    const opened = await storage.open();
    const agent = () => durableAgent(built, opened(), { tools: [ask, book] });
    const first = await agent().run("go");
    const inner = await persistence(agent()).agent("a").getCheckpoints();
    const waits = inner.find(({ nodeId, agentPath }) => nodeId === "check" && agentPath.length === 1)?.checkpointId;
    if (hasEnded) expect(await answered(agent, first, false)).toMatchObject({ output: "x false" });
    const back = await agent().resume({ checkpointId: waits ?? "none" });
    expect(openIn(back)).toMatchObject([{ agentPath: ["research"], nodeId: "check" }]);
    expect(openIn(back)[0]?.requestId).not.toBe(openIn(first)[0]?.requestId);
    expect(await answered(agent, back, true)).toMatchObject({ status: "completed", output: "x true" });
    expect(world.nodes).toEqual(["gather"]);
    expect(world.items).toEqual(["beside", "x"]);
  });
});
