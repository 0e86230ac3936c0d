import {
  InMemoryPersistenceStorageProvider,
  persistence,
  strategy,
  tool,
  type AgentContext,
  type AnyTool,
} from "agent-persistence";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { nextTurn } from "../../../src/internal/nextTurn.ts";
import { Inbox } from "../../../src/journal/inbox/Inbox.ts";
import { gate } from "../../agent/gate.ts";
import { testFeature } from "../../agent/testFeature.ts";
import { asking, idOf } from "../support/asking.ts";
import { durableAgent } from "../support/durableAgent.ts";

const schema = z.string();

const toolOf = (execute: (context: AgentContext) => Promise<string>) =>
  tool({
    name: "work",
    description: "",
    inputSchema: z.object({}),
    effect: "none",
    execute: (_, { context }) => execute(context),
  });

const calling = (work: ReturnType<typeof toolOf>) => asking((_input, context) => context.tools.call(work, {}));

const agentOf = (graph: ReturnType<typeof asking>, tools: readonly AnyTool[] = []) =>
  durableAgent(graph, new InMemoryPersistenceStorageProvider(), { tools, sleepInProcessMs: 0 });

const slowRequests = (delay: Promise<void>, onMade: () => void = () => undefined) =>
  testFeature((pipeline) =>
    pipeline.aroundInputRequest(async (event, next) => {
      await delay;
      void nextTurn().then(onMade);
      return next(event);
    }),
  );

/** A node that returns while its tool call works, and a node that receives an event. */
function leaving(first: (context: AgentContext) => Promise<unknown>) {
  return strategy<string, string>("leaving", (g) => {
    const leave = g.node("leave", async (_input: string, context) => String(await first(context)));
    const receive = g.node("receive", async (before: string, context) => {
      const event = await context.receive("paid", { schema, timeoutMs: 0 });
      return `${before}, then ${event ?? "nothing"}`;
    });
    g.edge(g.start, leave);
    g.edge(leave, receive);
    g.edge(receive, g.finish);
  });
}

describe("a request that is made too late", () => {
  it("by a tool that ends first lets the run complete", async () => {
    const work = toolOf((context) =>
      Promise.race([context.receive("cancel", { schema }).then(() => "cancelled"), Promise.resolve("done")]),
    );
    expect(await agentOf(calling(work), [work]).run("go")).toMatchObject({ status: "completed", output: "done" });
  });

  it("by a feature that delays it lets the run complete", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    onTestFinished(() => warned.mockRestore());
    const delayed = gate();
    const work = toolOf(async (context) => {
      void context.requestInput({ prompt: "?", schema });
      return "done";
    });
    const graph = asking((_input, context) => context.tools.call(work, {}).finally(() => delayed.open()));
    const agent = agentOf(graph, [work]).install(slowRequests(delayed.opened), {});
    expect(await agent.run("go")).toMatchObject({ status: "completed", output: "done" });
  });

  it("by the first attempt of a tool does not replace the request of the second attempt", async () => {
    const failing = [true];
    const work = toolOf(async (context) => {
      const asked = context.requestInput({ prompt: "?", schema });
      if (failing.pop()) throw new RangeError("out of order");
      return asked;
    });
    const retrying = testFeature((pipeline) =>
      pipeline.aroundToolCall(async (event, next) => {
        try {
          return await next(event);
        } catch {
          return next(event);
        }
      }),
    );
    const agent = agentOf(calling(work), [work]).install(retrying, {});
    const request = idOf(await agent.run("go", { agentId: "a" }));
    expect(await agent.resume({ agentId: "a", answers: { [request]: "yes" } })).toMatchObject({ output: "yes" });
  });
});

describe("a receive that its node does not await", () => {
  it("leaves an event that arrives while a call of the node still runs", async () => {
    const [delayed, made, working] = [gate(), gate(), gate<string>()];
    const work = toolOf(() => working.opened);
    const graph = leaving((context) => {
      void context.tools.call(work, {});
      void context.receive("paid", { schema });
      return Promise.resolve("left");
    });
    const storage = new InMemoryPersistenceStorageProvider();
    const listening = vi.spyOn(Inbox.of(storage), "onArrival");
    const agent = durableAgent(graph, storage, { tools: [work], sleepInProcessMs: 0 });
    const running = agent.install(slowRequests(delayed.opened, made.open), {}).run("go", { agentId: "a" });
    delayed.open();
    await made.opened;
    expect(listening).not.toHaveBeenCalled();
    await persistence(agent).agent("a").send("paid", "one");
    working.open("worked");
    expect(await running).toMatchObject({ output: "left, then one" });
  });

  it("leaves an event that arrived before", async () => {
    const graph = leaving((context) => {
      void context.receive("paid", { schema });
      return Promise.resolve("left");
    });
    const agent = agentOf(graph);
    await persistence(agent).agent("a").send("paid", "one");
    expect(await agent.run("go", { agentId: "a" })).toMatchObject({ output: "left, then one" });
  });
});
