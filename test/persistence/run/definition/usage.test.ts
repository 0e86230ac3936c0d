import {
  AIAgent,
  callModel,
  callTools,
  hasToolCalls,
  InMemoryPersistenceStorageProvider,
  persistence,
  Persistence,
  strategy,
  textOf,
  type ModelUsage,
  type PersistenceEvent,
  type PromptExecutor,
} from "agent-persistence";
import { crashAfter, scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { durableAgent, Fault } from "../../support/durableAgent.ts";
import { logStorages } from "../../support/storages.ts";
import { World } from "../../support/World.ts";

/** A model that reports what each answer cost: the answer's number of input tokens, and one of output. */
function counted(turns: Parameters<typeof scriptedModel>[0], finishReason = "stop") {
  const script = scriptedModel(turns);
  let asked = 0;
  const model: PromptExecutor = {
    async execute(request) {
      const { message } = await script.execute(request);
      asked++;
      const usage: ModelUsage = {
        inputTokens: 10 ** asked,
        outputTokens: 1,
        inputTokenDetails: { cacheReadTokens: 1 },
      };
      return { message, usage, finishReason };
    },
  };
  return { model, asked: () => asked };
}

const loop = strategy<string, string>("loop", (graph) => {
  const ask = graph.node("callModel", callModel);
  const act = graph.node("callTools", callTools);
  graph.edge(graph.start, ask);
  graph.edge(ask, act, { when: hasToolCalls });
  graph.edge(act, ask);
  graph.edge(ask, graph.finish, { map: textOf });
});

const turns = (...items: readonly string[]) => [
  ...items.map((item) => ({ toolCalls: [{ toolName: "book", input: { item } }] })),
  "done",
];

describe.each(logStorages)("$name: the tokens of a run", (storage) => {
  it("are summed over all responses, in the result and the recorded result", async () => {
    const opened = await storage.open();
    const world = new World();
    const { model } = counted(turns("a", "b"));
    const agent = durableAgent(loop, opened(), { tools: [world.adder("book")], model });
    const usage = { inputTokens: 1_110, outputTokens: 3, inputTokenDetails: { cacheReadTokens: 3 } };
    expect(await agent.run("go", { runId: "r" })).toEqual({ status: "completed", runId: "r", output: "done", usage });
    expect(await agent.run("go", { runId: "r" })).toEqual({ status: "completed", runId: "r", output: "done", usage });
    const checkpoints = await persistence(agent).agent().getCheckpoints();
    expect(checkpoints.map((checkpoint) => checkpoint.usage?.inputTokens)).toEqual([
      undefined,
      10,
      10,
      110,
      110,
      1_110,
    ]);
  });

  it("include responses of an earlier process, even if no checkpoint followed", async () => {
    const opened = await storage.open();
    const world = new World();
    const { model, asked } = counted(turns("a"));
    const fault = new Fault();
    const graph = strategy<string, string>("one", (g) => {
      const only = g.node("only", async (input: string, { llm, tools }) => {
        llm.append({ role: "user", content: input });
        const answer = await llm.request();
        llm.append(answer, await tools.execute(answer));
        fault.strike();
        return textOf(await llm.request());
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    const agent = () => durableAgent(graph, opened(), { tools: [world.adder("book")], model });
    await expect(agent().run("go")).rejects.toThrow("stopped");
    fault.repair();
    expect(await agent().resume()).toMatchObject({ output: "done", usage: { inputTokens: 110, outputTokens: 2 } });
    expect(asked()).toBe(2);
  });

  it("are not reduced by a rollback, and start at zero in the next run", async () => {
    const opened = await storage.open();
    const world = new World();
    const { model } = counted(turns("a"));
    const registryOf = { tools: [world.adder("book")], model };
    const agent = durableAgent(loop, opened(), registryOf);
    await agent.run("go", { runId: "one" });
    const durable = persistence(agent).agent();
    const [first] = await durable.getCheckpoints();
    await durable.rollbackToCheckpoint(first?.checkpointId ?? "");
    expect(await agent.resume()).toMatchObject({ runId: "one", usage: { inputTokens: 11_110, outputTokens: 4 } });
    expect(await agent.run("go", { runId: "two" })).toMatchObject({ usage: { inputTokens: 1_100_000 } });
  });
});

describe("the tokens of a run", () => {
  it("are in events with the finish reason, and replayed responses are visible only to features", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const world = new World();
    const events: PersistenceEvent[] = [];
    const seen: unknown[] = [];
    const { model } = counted(turns("a"), "tool-calls");
    const agent = (provider: Parameters<typeof durableAgent>[1]) => {
      const tools = [world.adder("book", "idempotent")];
      const graph = strategy<string, string>("one", (g) => {
        const only = g.node("only", async (_input: string, context) => {
          const answer = await context.llm.request();
          await context.tools.execute(answer);
          return "end";
        });
        g.edge(g.start, only);
        g.edge(only, g.finish);
      });
      return new AIAgent({ promptExecutor: model, llmModel: "m", strategy: graph, tools })
        .install(
          {
            key: "meter",
            install: (pipeline) =>
              pipeline.onModelRequestCompleted(({ usage, finishReason, replayed }) => {
                seen.push({ tokens: usage?.inputTokens, finishReason, replayed });
              }),
          },
          {},
        )
        .install(Persistence, { storage: provider, onEvent: (event) => void events.push(event) });
    };
    await expect(agent(crashAfter(storage, 2)).run("go")).rejects.toMatchObject({ code: "simulated_crash" });
    expect(await agent(storage).resume()).toMatchObject({ output: "end", usage: { inputTokens: 10 } });
    expect(seen).toEqual([
      { tokens: 10, finishReason: "tool-calls", replayed: false },
      { tokens: 10, finishReason: "tool-calls", replayed: true },
    ]);
    expect(events.filter(({ type }) => type === "model_answered")).toMatchObject([
      { nodeId: "only", finishReason: "tool-calls", usage: { inputTokens: 10, outputTokens: 1 } },
    ]);
  });

  it("are omitted if the provider does not report valid numbers", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const answering = (usage: unknown) =>
      durableAgent(loop, storage, {
        model: {
          execute: async () => ({ message: { role: "assistant", content: "hi" }, usage: usage as ModelUsage }),
        },
      });
    expect(await answering(undefined).run("a")).not.toHaveProperty("usage");
    expect(await answering({ inputTokens: "12", tokens: 3, outputTokens: Number.NaN }).run("b")).not.toHaveProperty(
      "usage",
    );
    expect(await answering({ inputTokens: 12, raw: { secret: 1 } }).run("c")).toMatchObject({
      usage: { inputTokens: 12 },
    });
  });

  it("are summed without Persistence as well", async () => {
    const { model } = counted(["done"]);
    const agent = new AIAgent({ promptExecutor: model, llmModel: "m" });
    expect(await agent.run("go")).toMatchObject({ output: "done", usage: { inputTokens: 10, outputTokens: 1 } });
  });
});
