import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  strategy,
  textOf,
  tool,
  type AgentContext,
  type PromptExecutor,
} from "agent-persistence";
import { replayRun } from "agent-persistence/replay";
import { expect, it } from "vitest";
import { z } from "zod";

const item = tool({
  name: "item",
  description: "",
  inputSchema: z.object({ item: z.string() }),
  effect: "none",
  execute: ({ item: made }) => made,
});

type Body = (input: string, context: AgentContext) => Promise<string>;

interface Parts {
  readonly body: Body;
  readonly model?: PromptExecutor;
  readonly systemPrompt?: string;
}

const echo: PromptExecutor = {
  execute: async ({ messages }) => ({
    message: { role: "assistant", content: `re: ${JSON.stringify(messages.at(-1)?.content)}` },
  }),
};

/** An agent of two nodes. */
function agentOf(storage: InMemoryPersistenceStorageProvider, { body, model = echo, systemPrompt }: Parts) {
  const graph = strategy<string, string>("two", (g) => {
    const first = g.node("first", async (input: string) => input);
    const second = g.node("second", body);
    g.edge(g.start, first);
    g.edge(first, second);
    g.edge(second, g.finish);
  });
  const common = { id: "a", promptExecutor: model, llmModel: "small", tools: [item], strategy: graph };
  return new AIAgent({ ...common, modelRetry: false, ...(systemPrompt !== undefined && { systemPrompt }) }).install(
    Persistence,
    { storage },
  );
}

const call: Body = (input, context) => context.tools.call(item, { item: input });

it("a replay from a checkpoint does not use the results of later runs", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const agent = agentOf(storage, { body: call });
  await agent.run("one", { runId: "r1" });
  const [, from] = await persistence(agent).agent().getCheckpoints();
  await agent.run("two", { runId: "r2" });
  const other = agentOf(storage, { body: (_input, context) => call("two", context) });
  const replayed = await replayRun(other, { storage, agentId: "a", runId: "r1", from: from?.checkpointId });
  expect(replayed).toMatchObject({
    status: "stopped",
    divergence: { what: "call", actual: { input: { item: "two" } } },
  });
});

it("a candidate gets the responses and outcomes of the same branch first", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  let made = 0;
  const counted = tool({
    name: "counted",
    description: "",
    inputSchema: z.object({}),
    effect: "irreversible",
    execute: () => `made ${made++}`,
  });
  const eachAgent = (items: readonly string[], greeting: string) => {
    const graph = strategy<string, string>("each", (g) => {
      const ask = g.node("ask", async (key: string, { llm, tools }: AgentContext) => {
        llm.append({ role: "user", content: `${greeting} ${key}` });
        return `${key}: ${textOf(await llm.request())}, ${await tools.call(counted, {})}`;
      });
      const all = g.each("all", ask, { concurrency: 1, key: (key: string) => key }, (outputs) =>
        outputs.toSorted().join("; "),
      );
      g.edge(g.start, all, { map: () => items });
      g.edge(all, g.finish);
    });
    const common = { id: "a", promptExecutor: echo, llmModel: "small", tools: [counted], strategy: graph };
    return new AIAgent(common).install(Persistence, { storage });
  };
  const output = 'x: re: "hello x", made 0; y: re: "hello y", made 1';
  expect(await eachAgent(["x", "y"], "hello").run("go", { runId: "r" })).toMatchObject({ output });
  const replayed = await replayRun(eachAgent(["y", "x"], "dear"), { storage, agentId: "a", model: "recorded" });
  expect(replayed).toMatchObject({ matches: true, status: "completed", output });
});

it("systemPrompt replaces the prompt of a run that continues a history", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const seen: unknown[] = [];
  const model: PromptExecutor = {
    async execute({ messages }) {
      seen.push(messages[0]?.content);
      return { message: { role: "assistant", content: "done" } };
    },
  };
  const ask: Body = async (input, { llm }) => {
    llm.append({ role: "user", content: input }, await llm.request());
    return "asked";
  };
  const agent = agentOf(storage, { body: ask, model, systemPrompt: "Be kind." });
  await agent.run("one", { runId: "r1" });
  await agent.run("two", { runId: "r2", history: "continue" });
  const options = { storage, agentId: "a", model: "live", systemPrompt: "Be brief." } as const;
  expect(await replayRun(agent, options)).toMatchObject({ matches: true });
  expect(seen).toEqual(["Be kind.", "Be kind.", "Be brief."]);
});

it("a failed request loses the same race again", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  let requests = 0;
  const model: PromptExecutor = {
    async execute() {
      if (requests++ > 0) return { message: { role: "assistant", content: "done" } };
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      throw new RangeError("overloaded");
    },
  };
  const race: Body = async (input, context) => {
    const asked = context.llm.request().then(
      () => "response",
      () => "failure",
    );
    const first = await Promise.race([asked, call(input, context)]);
    const ends = [first, await asked, await context.llm.request().then(({ content }) => content)];
    return JSON.stringify(ends);
  };
  const agent = agentOf(storage, { body: race, model });
  const output = JSON.stringify(["go", "failure", "done"]);
  expect(await agent.run("go", { runId: "r" })).toMatchObject({ output });
  const replayed = await replayRun(agent, { storage, agentId: "a" });
  expect(replayed.divergence).toBeUndefined();
  expect(replayed).toMatchObject({ matches: true, output });
});

it("a caught failure without a later response is reported with the reason", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const model: PromptExecutor = { execute: () => Promise.reject(new RangeError("overloaded")) };
  const caught: Body = (_input, { llm }) =>
    llm.request().then(
      () => "response",
      () => "failure",
    );
  const agent = agentOf(storage, { body: caught, model });
  expect(await agent.run("go", { runId: "r" })).toMatchObject({ output: "failure" });
  const { matches, divergence } = await replayRun(agent, { storage, agentId: "a" });
  expect(matches).toBe(false);
  expect(divergence).toMatchObject({ what: "request", nodeId: "second" });
  expect(divergence?.reason).toContain("caught the failure");
});
