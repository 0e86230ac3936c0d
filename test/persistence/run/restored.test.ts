import {
  persistence,
  storageKey,
  strategy,
  type AgentContext,
  type Message,
  type PromptExecutor,
  type ToolMessage,
} from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent, Fault, Stopped } from "../support/durableAgent.ts";
import { latestOf } from "../support/stored.ts";
import { storages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const rich = storageKey("rich", z.object({ at: z.date(), by: z.map(z.string(), z.bigint()), tags: z.set(z.string()) }));
const gone = storageKey("gone", z.string());

/** Everything of a context that a checkpoint keeps and a node can see. */
function seen(context: AgentContext) {
  return structuredClone({
    messages: context.llm.messages,
    rich: context.storage.get(rich),
    gone: context.storage.get(gone),
  });
}

describe.each(storages)("$name: the state that a checkpoint restores", (storage) => {
  /** Changes all there is in the first node, looks at it in the second, goes on after the third. */
  function changing(look: (context: AgentContext) => Promise<unknown>) {
    const world = new World();
    const [book, send] = [world.adder("book", "none"), world.adder("send", "none")];
    const requests: unknown[] = [];
    const model: PromptExecutor = {
      execute: async ({ model: name, parameters, tools }) => {
        requests.push([name, parameters, tools.map((one) => one.name)]);
        return { message: { role: "assistant", content: "ok" } };
      },
    };
    const graph = strategy<string, string>("s", (g) => {
      const change = g.node("change", (input: string, context) => {
        context.llm.append({
          role: "user",
          content: [{ type: "file", data: new Uint8Array([1, 2]), mediaType: "x/y" }],
        });
        context.llm.configure({ model: "other", parameters: { temperature: 0.5 }, tools: [send] });
        context.storage.set(rich, { at: new Date(7), by: new Map([["n", 9n]]), tags: new Set(["t"]) });
        context.storage.set(gone, "x");
        context.storage.delete(gone);
        context.setProgress(30, "a third");
        context.recordDecision({ decision: "change", reason: "asked" });
        context.require({ files: ["a.txt"], environment: { node: ">=20" } });
        return { input, at: new Date(1) };
      });
      const use = g.node("use", async (_input: { readonly input: string; readonly at: Date }, context) => {
        await context.llm.request();
        await look(context);
        return context.nodeId;
      });
      g.edge(g.start, change);
      g.edge(change, use);
      g.edge(use, g.finish);
    });
    return { graph, options: { tools: [book, send], model, systemPrompt: "be" }, requests };
  }

  const inFull = {
    iteration: 1,
    model: "other",
    modelParameters: { temperature: 0.5 },
    tools: ["send"],
    progress: 30,
    progressSummary: "a third",
    decisions: [{ decision: "change", reason: "asked", nodeId: "change" }],
    recoveryInfo: { resumePoint: "use", requiredContext: ["a.txt"], environment: { node: ">=20" } },
    lastInput: { input: "go", at: new Date(1) },
    storage: { rich: { at: new Date(7), by: new Map([["n", 9n]]), tags: new Set(["t"]) } },
  };

  it("is deep-equal after a crash", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const looks: unknown[] = [];
    const { graph, options, requests } = changing(async (context) => {
      looks.push(seen(context));
      fault.strike();
    });
    await expect(durableAgent(graph, opened(), options).run("go")).rejects.toBeInstanceOf(Stopped);
    expect(await latestOf(durableAgent(graph, opened(), options))).toMatchObject(inFull);
    fault.repair();
    await durableAgent(graph, opened(), options).resume();
    expect(looks[1]).toEqual(looks[0]);
    expect(requests[0]).toEqual(["other", { temperature: 0.5 }, ["send"]]);
    const { recoveryInfo: _info, lastInput: _input, iteration: _iteration, ...stays } = inFull;
    expect(await latestOf(durableAgent(graph, opened(), options))).toMatchObject({ ...stays, iteration: 2 });
  });

  it("is deep-equal after a rollback inside the run", async () => {
    const opened = await storage.open();
    const looks: unknown[] = [];
    const { graph, options, requests } = changing(async (context) => {
      looks.push(seen(context));
      if (looks.length > 1) return;
      context.llm.configure({ model: "third", parameters: {}, tools: [] });
      context.llm.rewrite(() => []);
      context.storage.delete(rich);
      context.setProgress(90);
      await persistence(context).rollbackToLatestCheckpoint();
    });
    const agent = durableAgent(graph, opened(), options);
    await agent.run("go");
    expect(looks[1]).toEqual(looks[0]);
    expect(requests[1]).toEqual(requests[0]);
    expect(await latestOf(agent)).toMatchObject({ model: "other", progress: 30, storage: inFull.storage });
  });
});

describe.each(storages)("$name: a passed value", (storage) => {
  it("is stored in its state at the time of the call, despite later changes", async () => {
    const opened = await storage.open();
    const parts = [{ type: "text" as const, text: "then" }];
    const message = { role: "user" as const, content: parts };
    const given = { at: new Date(7), by: new Map([["n", 9n]]), tags: new Set(["t"]) };
    const output = { list: [1] };
    const graph = strategy<string, string>("s", (g) => {
      const first = g.node("first", async (_input: string, context: AgentContext) => {
        context.llm.append(message);
        context.storage.set(rich, given);
        parts.push({ type: "text", text: "later" });
        given.at.setTime(8);
        given.by.set("m", 1n);
        given.tags.clear();
        return output;
      });
      const second = g.node("second", (input: { readonly list: readonly number[] }) => {
        output.list.push(2);
        return JSON.stringify(input);
      });
      g.edge(g.start, first);
      g.edge(first, second);
      g.edge(second, g.finish);
    });
    const agent = durableAgent(graph, opened());
    expect(await agent.run("go")).toMatchObject({ output: '{"list":[1]}' });
    const latest = await latestOf(agent);
    const history: readonly Message[] = [{ role: "user", content: [{ type: "text", text: "then" }] }];
    expect(latest.messageHistory).toEqual(history);
    expect(latest.storage).toEqual({ rich: { at: new Date(7), by: new Map([["n", 9n]]), tags: new Set(["t"]) } });
    expect(() => (latest.messageHistory as Message[]).push(message)).toThrow(TypeError);
    expect((await latestOf(agent)).messageHistory).toEqual(history);
  });
});

describe.each(storages)("$name: a value that could not be restored", (storage) => {
  it.each([
    ["a node's output", () => ({ deep: [() => 1] }), 'the input of node "next"', ".deep[0]"],
    [
      "a stored value",
      (context: AgentContext) => (context.storage.set(storageKey("odd", z.any()), { at: [new Intl.Collator()] }), "ok"),
      'storage key "odd"',
      ".at[0]",
    ],
  ])("is refused with its path: %s", async (_name, body, subject, path) => {
    const opened = await storage.open();
    const graph = strategy<string, string>("s", (g) => {
      const here = g.node("here", (_input: string, context): unknown => body(context));
      const next = g.node("next", (_input: unknown) => "next");
      g.edge(g.start, here);
      g.edge(here, next);
      g.edge(next, g.finish);
    });
    const agent = durableAgent(graph, opened());
    await expect(agent.run("go")).rejects.toMatchObject({ code: "not_serializable", subject, path });
    expect(await latestOf(agent)).toMatchObject({ nodeId: "here", version: 1 });
  });
});

const provider = { cacheControl: "ephemeral" };
type Result = Extract<ToolMessage["content"][number], { type: "tool-result" }>;

/** What a node may make of a tool message before it appends it. */
const appended: Readonly<Record<string, (message: ToolMessage) => ToolMessage>> = {
  unchanged: (message) => message,
  "with options of the provider": ({ role, content }) => ({
    role,
    content: content.map((part) => ({ ...part, providerOptions: provider })),
  }),
  "with the output last": ({ role, content }) => ({
    role,
    content: content.map((part) => {
      const { output, ...others } = part as Result;
      return { ...others, output };
    }),
  }),
  "with the content first": ({ role, content }) => ({ content, role }),
};

describe.each(storages)("$name: a message that is sent again", (storage) => {
  it.each(Object.entries(appended))(
    "from a tool, %s, is the same text before and after a resume, field by field",
    async (_name, change) => {
      const opened = await storage.open();
      const world = new World();
      const fault = new Fault();
      const [book, fail] = [world.adder("book"), world.failing("fail")];
      const texts: string[] = [];
      const graph = strategy<string, string>("s", (g) => {
        const ask = g.node("ask", async (_input: string, { llm, tools }) => {
          const answer = await llm.request();
          llm.append(answer, change(await tools.execute(answer)));
          return "asked";
        });
        const look = g.node("look", (_input: string, { llm }) => {
          texts.push(JSON.stringify(llm.messages));
          fault.strike();
          return "seen";
        });
        g.edge(g.start, ask);
        g.edge(ask, look);
        g.edge(look, g.finish);
      });
      const long = "x".repeat(20_000);
      const toolCalls = ["desk", long].flatMap((item) =>
        ["book", "fail"].map((toolName) => ({ toolName, input: { item } })),
      );
      const agent = () => durableAgent(graph, opened(), { tools: [book, fail], turns: [{ toolCalls }] });
      await fault.stops(agent().run("go"));
      await agent().resume();
      expect(texts[1]).toBe(texts[0]);
    },
  );
});
