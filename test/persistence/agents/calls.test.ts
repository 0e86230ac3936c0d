import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  type PersistenceEvent,
  storageKey,
  strategy,
  tool,
  ToolFailedError,
  triggers,
} from "agent-persistence";
import { FeatureNotInstalledError, UnknownToolError } from "agent-persistence/errors";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate } from "../../agent/gate.ts";
import { type AgentTool, called, chain } from "../support/calledAgents.ts";
import { defaultLoop } from "../support/defaultLoop.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { recordsOf } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

describe.each(logStorages)("$name: called agents", (storage) => {
  it("return several outputs of one model message as tool results", async () => {
    const world = new World();
    const book = world.adder("book");
    const research = called("research", defaultLoop, {
      config: {
        tools: [book],
        promptExecutor: scriptedModel([
          ([first]) => ({ toolCalls: [{ toolName: "book", input: { item: first?.content } }] }),
          ([first]) => (typeof first?.content === "string" ? `found ${first.content}` : ""),
        ]),
      },
    });
    const opened = await storage.open();
    const agent = durableAgent(defaultLoop, opened(), {
      tools: [research],
      turns: [
        {
          toolCalls: [
            { toolName: "research", input: { topic: "whales" } },
            { toolName: "research", input: { topic: 5 } },
            { toolName: "research", input: { topic: "krill" } },
          ],
        },
        (messages) => JSON.stringify(messages.at(-1)?.content),
      ],
    });
    const result = await agent.run("go");
    const shown = z
      .array(z.object({ output: z.string(), isError: z.boolean().optional() }))
      .parse(JSON.parse("output" in result ? result.output : ""));
    expect(shown.map(({ isError, output }) => (isError ? "refused" : output))).toEqual([
      "found whales",
      "refused",
      "found krill",
    ]);
    expect(world.items).toEqual(["krill", "whales"]);
  });

  it("keep the log readable if one starts later than the others", async () => {
    const quickHasBegun = gate();
    const quick = called(
      "quick",
      chain("quick", {
        one: (text) => {
          quickHasBegun.open();
          return text;
        },
      }),
    );
    const slow = new AIAgent({
      llmModel: "slow",
      promptExecutor: scriptedModel([]),
      strategy: chain("slow", { one: (text) => text }),
    });
    slow.install(
      { key: "waiting", install: (pipeline) => pipeline.onAgentStarting(() => quickHasBegun.opened) },
      undefined,
    );
    slow.install(Persistence);
    const askSlow = slow.asTool({
      name: "slow",
      description: "",
      inputSchema: z.object({ topic: z.string() }),
      input: ({ topic }) => topic,
    });
    const outer = chain("outer", {
      plan: async (topic, { tools }) =>
        (await Promise.all([tools.call(askSlow, { topic }), tools.call(quick, { topic })])).join(" "),
    });
    const opened = await storage.open();
    const agent = () => durableAgent(outer, opened(), { tools: [askSlow, quick] });
    await expect(agent().run("x", { runId: "r" })).resolves.toMatchObject({ output: "x x" });
    await expect(persistence(agent()).agent("a").getCheckpoints()).resolves.toHaveLength(6);
    await expect(agent().run("x", { runId: "r" })).resolves.toMatchObject({ output: "x x" });
  });

  it("have separate histories, storage, models and limits", async () => {
    const key = storageKey("key", z.string());
    const seen: unknown[] = [];
    const inner = chain("inner", {
      look: (text, { storage: values, llm }) => {
        seen.push(values.get(key), llm.messages);
        values.set(key, "child");
        llm.append({ role: "user", content: "child" });
        return text;
      },
      more: (text) => text,
      last: (text) => text,
    });
    const ask = called("ask", inner, { config: { systemPrompt: "You look." } });
    const outer = chain("outer", {
      plan: async (text, context) => {
        context.storage.set(key, "parent");
        const found = await context.tools.call(ask, { topic: text });
        seen.push(context.storage.get(key), context.llm.messages);
        return found;
      },
      end: (text) => text,
    });
    const opened = await storage.open();
    // Two nodes of its own: those of the agents that it calls are not among them.
    const agent = durableAgent(outer, opened(), { tools: [ask], maxIterations: 2 });
    await expect(agent.run("x")).resolves.toMatchObject({ output: "x" });
    expect(seen).toEqual([undefined, [{ role: "system", content: "You look." }], "parent", []]);
  });

  it("count their nodes against a separate limit, which fails the call", async () => {
    const ask = called("ask", chain("inner", { one: (text) => text, two: (text) => text }), {
      config: { maxIterations: 1 },
    });
    const errors: unknown[] = [];
    const outer = chain("outer", {
      plan: async (text, context) => {
        await context.tools.call(ask, { topic: text }).catch((error: unknown) => errors.push(error));
        return text;
      },
    });
    const opened = await storage.open();
    await durableAgent(outer, opened(), { tools: [ask] }).run("x");
    expect(errors).toEqual([expect.any(ToolFailedError)]);
    expect(errors[0]).toMatchObject({ toolName: "ask", cause: { code: "iteration_limit" } });
  });

  it("nest three deep and call themselves, and every process finds them by name", async () => {
    const world = new World();
    const book = world.adder("book");
    const deeper: { tool?: AgentTool } = {};
    const count = chain("count", {
      count: async (text, { tools }) => {
        await tools.call(book, { item: text });
        if (text.length >= 3 || !deeper.tool) return text;
        return tools.call(deeper.tool, { topic: `${text}!` });
      },
    });
    deeper.tool = called("count", count, { config: { tools: [book] } });
    const middle = called(
      "middle",
      chain("middle", { go: (text, { tools }) => tools.call(deeper.tool!, { topic: text }) }),
      {
        config: { tools: [deeper.tool] },
      },
    );
    const outer = chain("outer", { go: (text, { tools }) => tools.call(middle, { topic: text }) });
    const opened = await storage.open();
    const agent = () => durableAgent(outer, opened(), { tools: [middle] });
    await expect(agent().run("x")).resolves.toMatchObject({ output: "x!!" });
    expect(world.items).toEqual(["x", "x!", "x!!"]);
    const paths = (await persistence(agent()).agent("a").getCheckpoints()).map(({ agentPath }) => agentPath);
    expect(paths).toContainEqual(["middle", "count", "count", "count"]);
  });

  it("are refused without Persistence or if another process could not find them", async () => {
    const named = called("named", chain("inner", { one: (text) => text }));
    const bare = called("bare", chain("inner", { one: (text) => text }), { persistence: false });
    const outer = (ask: AgentTool) =>
      chain("outer", {
        // What a feature refuses fails the run, whatever the node catches.
        plan: async (text, { tools }) => tools.call(ask, { topic: text }).catch(() => "caught"),
      });
    const opened = await storage.open();
    await expect(durableAgent(outer(named), opened()).run("x")).rejects.toBeInstanceOf(UnknownToolError);
    const second = await storage.open();
    const refused = durableAgent(outer(bare), second(), { tools: [bare] }).run("x");
    await expect(refused).rejects.toBeInstanceOf(FeatureNotInstalledError);
    await expect(refused).rejects.toThrow("Add .install(Persistence); it needs no storage.");
  });

  it("emit events of triggers, trimming and failed branches to their listener and the caller's", async () => {
    const own: PersistenceEvent[] = [];
    const callers: PersistenceEvent[] = [];
    const look = tool({
      name: "look",
      description: "",
      inputSchema: z.object({}),
      dangerous: true,
      execute: () => "x",
    });
    const fails = strategy<string, string>("fails", (graph) => {
      const first = graph.node("first", async (text: string, { llm, tools }) => {
        await tools.call(look, {});
        llm.append({ role: "user", content: "1" }, { role: "user", content: "2" }, { role: "user", content: "3" });
        return text;
      });
      const bad = graph.node("bad", (): string => {
        throw new RangeError("bad");
      });
      const both = graph.parallel("both", { bad }, (results) => results.bad);
      graph.edge(graph.start, first);
      graph.edge(first, both);
      graph.edge(both, graph.finish);
    });
    const ask = called("ask", fails, {
      config: { tools: [look] },
      persistence: {
        onEvent: (event) => void own.push(event),
        trimming: { messages: 1 },
        triggers: [triggers.beforeDangerousOperation(), triggers.afterNode()],
      },
    });
    const outer = chain("outer", {
      plan: async (text, { tools }) => tools.call(ask, { topic: text }).catch(() => text),
    });
    const opened = await storage.open();
    const agent = durableAgent(outer, opened(), { tools: [ask], onEvent: (event) => void callers.push(event) });
    await agent.run("x");
    const ofChild = callers.filter((event) => "agentPath" in event && event.agentPath?.join() === "ask");
    expect(own).toEqual(ofChild);
    const shown = own.map((event) => `${event.type}${"trigger" in event ? ` ${event.trigger}` : ""}`);
    for (const kind of [
      "checkpoint_saved line_started",
      "checkpoint_saved before_dangerous_operation",
      "history_trimmed",
      "checkpoint_saved after_node",
      "branch_failed",
    ])
      expect(shown).toContain(kind);
  });

  it("use the clock of their caller and are not cut off by tool timeouts", async () => {
    const clock = new SimulatedClock();
    const hangs = { execute: () => new Promise<never>(() => setImmediate(() => clock.advance(5_000))) };
    const inner = chain("inner", {
      one: async (text, { llm }) => {
        clock.advance(5_000);
        return llm.request().then(
          () => text,
          (error: unknown) => String((error as { readonly code?: unknown }).code),
        );
      },
    });
    const ask = called("ask", inner, {
      config: { promptExecutor: hangs, modelTimeoutMs: 5_000, modelRetry: false },
      persistence: { clock: new SimulatedClock() },
    });
    const outer = chain("outer", { plan: (text, { tools }) => tools.call(ask, { topic: text }) });
    const opened = await storage.open();
    const base = { llmModel: "m", promptExecutor: scriptedModel([]), strategy: outer, tools: [ask] };
    const agent = new AIAgent({ ...base, toolTimeoutMs: 1_000 }).install(Persistence, { storage: opened(), clock });
    await expect(agent.run("x")).resolves.toMatchObject({ output: "model_timed_out" });
  });

  it("add their tokens to the run", async () => {
    const counted = {
      execute: async () => ({
        message: { role: "assistant" as const, content: "yes" },
        usage: { inputTokens: 10, outputTokens: 1 },
      }),
    };
    const asking = chain("asking", {
      one: async (text, { llm }) => {
        await llm.request();
        return text;
      },
    });
    const ask = called("ask", asking, { config: { promptExecutor: counted } });
    const outer = chain("outer", {
      plan: async (text, { tools, llm }) => {
        await llm.request();
        await Promise.all([tools.call(ask, { topic: text }), tools.call(ask, { topic: text })]);
        return text;
      },
    });
    const opened = await storage.open();
    await expect(durableAgent(outer, opened(), { tools: [ask], model: counted }).run("x")).resolves.toMatchObject({
      usage: { inputTokens: 30, outputTokens: 3 },
    });
  });

  it("end with the outcome of their call in one append", async () => {
    const ask = called("ask", chain("inner", { one: (text) => text }));
    const outer = chain("outer", { plan: (text, { tools }) => tools.call(ask, { topic: text }), end: (text) => text });
    const opened = await storage.open();
    const provider = opened();
    await durableAgent(outer, provider, { tools: [ask] }).run("x");
    const appends: string[][] = [];
    for await (const { records } of provider.log.read("a")) appends.push(records.map(({ kind }) => kind));
    const ended = (await recordsOf(provider)).filter((record) => "ended" in record);
    expect(ended).toHaveLength(1);
    const at = appends.findIndex((kinds) => kinds.includes("outcome"));
    expect(appends[at]?.slice(-3)).toEqual(["checkpoint", "outcome", "checkpoint"]);
    // Nothing waits for the beginning of a line: here it begins and ends in one append, between those of the run.
    expect(appends).toHaveLength(3);
  });
});

describe("agents called by an agent without Persistence", () => {
  it("run in memory, with or without Persistence", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const inner = strategy<string, string>("inner", (graph) => {
      const a = graph.node("a", async (text: string, { storage: values }) => {
        values.set(storageKey("k", z.string()), text);
        return text;
      });
      const both = graph.parallel("both", { a }, (results) => results.a);
      graph.edge(graph.start, both);
      graph.edge(both, graph.finish);
    });
    for (const ask of [called("ask", inner), called("ask", inner, { persistence: { storage } })]) {
      const outer = chain("outer", { plan: (text, { tools }) => tools.call(ask, { topic: text }) });
      const agent = new AIAgent({ llmModel: "m", promptExecutor: scriptedModel([]), strategy: outer, tools: [ask] });
      await expect(agent.run("x")).resolves.toMatchObject({ output: "x" });
    }
    for await (const { agentId } of storage.log.list()) expect(agentId).toBe("none");
  });

  it("cannot request input", async () => {
    const ask = called(
      "ask",
      chain("inner", { one: (_text, context) => context.requestInput({ prompt: "?", schema: z.string() }) }),
    );
    const outer = chain("outer", { plan: (text, { tools }) => tools.call(ask, { topic: text }) });
    const agent = new AIAgent({ llmModel: "m", promptExecutor: scriptedModel([]), strategy: outer, tools: [ask] });
    await expect(agent.run("x")).rejects.toMatchObject({ cause: { code: "feature_not_installed" } });
  });
});
