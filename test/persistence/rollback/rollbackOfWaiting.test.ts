import {
  InMemoryPersistenceStorageProvider,
  persistence,
  RollbackToolRegistry,
  strategy,
  tool,
  type AgentContext,
  type PersistenceStorageProvider,
} from "agent-persistence";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { asking, idOf, summaryOf } from "../support/asking.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { World } from "../support/World.ts";

/** An agent that books something and waits for an answer, all in one node. */
async function waitingAgent() {
  const world = new World();
  const storage = new InMemoryPersistenceStorageProvider();
  const build = (at: PersistenceStorageProvider = storage) => {
    const book = world.adder("book");
    const registry = new RollbackToolRegistry().registerRollback(
      book,
      ({ item }, { toolCallId }) => world.remove(toolCallId, item),
      { effect: "idempotent" },
    );
    const graph = asking(async (input, context) => {
      await context.tools.call(book, { item: "room" });
      return `${input}: ${await context.requestInput({ prompt: "which?", schema: z.string() })}`;
    });
    return durableAgent(graph, at, { tools: [book], registry });
  };
  const requestId = idOf(await build().run("in", { runId: "r" }));
  const outside = (at?: PersistenceStorageProvider) => persistence(build(at)).agent();
  return { world, storage, build, outside, requestId };
}

/** A waiting agent whose rollback to its first checkpoint ended after a number of saves. */
async function cutShort(saves: number) {
  const agent = await waitingAgent();
  const rollback = agent.outside(crashAfter(agent.storage, saves)).rollbackToCheckpoint("1-1");
  await expect(rollback).rejects.toThrow("crash");
  return agent;
}

describe("a rollback of a waiting agent", () => {
  it.each([1, 2, 3])("opens the request again after a crash, after %i saves", async (saves) => {
    const { build, outside, requestId, world } = await cutShort(saves);
    const asked = idOf(await build().resume());
    expect(asked).not.toBe(requestId);
    await outside().answer(asked, "blue");
    expect(await build().resume()).toMatchObject({ status: "completed", output: "in: blue" });
    expect([world.items, new Set(world.undone).size]).toEqual([["room"], 1]);
  });

  it.each([
    [1, 4],
    [2, 4],
    [3, 2],
  ])("ends in the append that pauses the agent, after %i and %i saves", async (saves, more) => {
    const { build, outside, storage } = await cutShort(saves);
    await expect(build(crashAfter(storage, more)).resume()).rejects.toThrow("crash");
    expect(await summaryOf(storage)).toMatchObject({
      status: "paused",
      data: { pauseReason: "rolled back to checkpoint 1-1" },
    });
    expect(await outside().getRequests()).toEqual([]);
  });

  it.each([1, 2, 3])("refuses an answer that it would drop, after %i saves", async (saves) => {
    const { build, outside, requestId } = await cutShort(saves);
    expect(await outside().getRequests()).toEqual([]);
    await expect(outside().answer(requestId, "blue")).rejects.toMatchObject({ code: "request_not_found" });
    for await (const request of persistence(build()).listRequests()) expect(request).toBeUndefined();
    expect(idOf(await build().resume())).not.toBe(requestId);
  });
});

const goingBack = {
  "to the latest checkpoint": (context: AgentContext) => persistence(context).rollbackToLatestCheckpoint(),
  "to a checkpoint": async (context: AgentContext) => {
    const [first] = await persistence(context).getCheckpoints();
    return persistence(context).rollbackToCheckpoint(first?.checkpointId ?? "");
  },
  "of the messages": (context: AgentContext) =>
    persistence(context).rollbackToLatestCheckpoint({ rollbackStrategy: "message_history_only" }),
} as const;

describe.each(["a node", "a tool", "a branch"])("a rollback that %s does not await, with an open request", (place) => {
  it.each(Object.entries(goingBack).filter(([target]) => place === "a node" || target !== "to a checkpoint"))(
    "continues the run %s",
    async (_target, goBack) => {
      let executions = 0;
      const ask = async (text: string, context: AgentContext) => {
        executions += 1;
        if (executions > 1) return `${text} again`;
        void goBack(context);
        return context.requestInput({ prompt: "which?", schema: z.string() });
      };
      const asks = tool({
        name: "asks",
        description: "",
        inputSchema: z.string(),
        execute: (text, { context }) => ask(text, context),
      });
      const graph = strategy<string, string>("s", (g) => {
        const first = g.node("first", (text: string) => text);
        const node = g.node("ask", (text: string, context) =>
          place === "a tool" ? context.tools.call(asks, text) : ask(text, context),
        );
        const branches = () => ({ node, other: g.node("other", (text: string) => text) });
        const asking = place === "a branch" ? g.parallel("both", branches(), (texts) => texts.node) : node;
        g.edge(g.start, first);
        g.edge(first, asking);
        g.edge(asking, g.finish);
      });
      const agent = durableAgent(graph, new InMemoryPersistenceStorageProvider(), { tools: [asks] });
      expect(await agent.run("in")).toMatchObject({ status: "completed", output: "in again" });
      expect(executions).toBe(2);
    },
  );
});

/** A promise, and the function that resolves it. */
function signal() {
  let give: () => void = () => undefined;
  const given = new Promise<void>((resolve) => (give = resolve));
  return { given, give };
}

it.each([true, false])(
  "a branch that waits for the rollback of another branch and for input rolls back (awaited: %s)",
  async (awaits) => {
    const executions = { first: 0, second: 0 };
    const [inverse, opened] = [signal(), signal()];
    const book = tool({ name: "book", description: "", inputSchema: z.object({}), execute: () => 1 });
    const registry = new RollbackToolRegistry().registerRollback(book, () => (inverse.give(), opened.given), {
      effect: "idempotent",
    });
    const graph = strategy<string, string>("s", (g) => {
      const begin = g.node("begin", (text: string) => text);
      const first = g.node("first", async (text: string, context) => {
        if (++executions.first > 1) return text;
        await context.tools.call(book, {});
        return (await persistence(context).rollbackToLatestCheckpoint()) as never;
      });
      const second = g.node("second", async (_text: string, context) => {
        if (++executions.second > 1) return "again";
        await inverse.given;
        const moving = persistence(context).rollbackToLatestCheckpoint();
        const answer = context.requestInput({ prompt: "which?", schema: z.string() });
        if (awaits) await Promise.all([moving, answer]);
        return answer;
      });
      const both = g.parallel("both", { first, second }, (texts) => `${texts.first} ${texts.second}`);
      g.edge(g.start, begin);
      g.edge(begin, both);
      g.edge(both, g.finish);
    });
    const agent = durableAgent(graph, new InMemoryPersistenceStorageProvider(), {
      tools: [book],
      registry,
      onEvent: ({ type }) => void (type === "request_opened" && opened.give()),
    });
    expect(await agent.run("in")).toMatchObject({ status: "completed", output: "in again" });
    expect(executions).toEqual({ first: 2, second: 2 });
  },
);
