import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AIAgent, type AIAgentConfig } from "../../../src/agent/AIAgent.ts";
import type { AgentContext } from "../../../src/agent/context/AgentContext.ts";
import type { RunDelta } from "../../../src/agent/feature/RunRequest.ts";
import type { ModelDelta, PromptExecutor } from "../../../src/agent/model/PromptExecutor.ts";
import { strategy } from "../../../src/agent/strategy/Strategy.ts";
import { textOf } from "../../../src/agent/model/nodes.ts";
import type { ContentPart } from "../../../src/checkpoint/messages/Message.ts";
import { ModelRequestError } from "../../../src/errors/modelErrors.ts";
import { InMemoryPersistenceStorageProvider } from "../../../src/storage/memory/MemoryRecordLog.ts";
import { Persistence } from "../../../src/persistence/Persistence.ts";
import { scriptedModel } from "../../../src/testing/doubles/scriptedModel.ts";
import { gate } from "../gate.ts";
import { Fault } from "../../persistence/support/durableAgent.ts";

const piece = (text: string, type: ModelDelta["type"] = "text-delta"): ModelDelta => ({ type, text });
const broken = () => new ModelRequestError({ model: "m", provider: "p", retryable: true, cause: new Error("cut") });

/** A model that streams these pieces, one list a request; `fails` breaks off after them. */
function streaming(...answers: readonly { readonly pieces: readonly ModelDelta[]; readonly fails?: boolean }[]) {
  let asked = 0;
  const promptExecutor: PromptExecutor = {
    execute: () => Promise.reject(new Error("It was to stream.")),
    async stream(_request, onDelta) {
      const { pieces, fails } = answers[asked++] ?? { pieces: [] };
      for (const delta of pieces) onDelta(delta);
      if (fails) throw broken();
      const content = pieces.map(({ type, text }): ContentPart => ({
        type: type === "text-delta" ? "text" : "reasoning",
        text,
      }));
      return { message: { role: "assistant", content } };
    },
  };
  return { promptExecutor, asked: () => asked };
}

async function deltasOf(
  config: Partial<AIAgentConfig<string, string>> & Pick<AIAgentConfig<string, string>, "promptExecutor">,
) {
  const deltas: RunDelta[] = [];
  const agent = new AIAgent({ llmModel: "m", modelRetry: { delayMs: 0 }, ...config });
  const result = await agent.run("x", { onDelta: (delta) => void deltas.push(delta) });
  return { deltas, result };
}

describe("run(…, { onDelta })", () => {
  it("receives the parts of a response as they arrive, with their node and one id per request", async () => {
    const { promptExecutor } = streaming({ pieces: [piece("hm", "reasoning-delta"), piece("Hel"), piece("lo")] });
    const { deltas, result } = await deltasOf({ promptExecutor });
    expect(result).toMatchObject({ output: "Hello" });
    const { requestId } = deltas[0] ?? {};
    expect(requestId).toEqual(expect.any(String));
    const place = { nodeId: "callModel", requestId };
    expect(deltas).toEqual([
      { type: "reasoning-delta", text: "hm", ...place },
      { type: "text-delta", text: "Hel", ...place },
      { type: "text-delta", text: "lo", ...place },
    ]);
  });

  it("receives restart before the parts of a second attempt, which make up the response", async () => {
    const { promptExecutor, asked } = streaming(
      { pieces: [piece("Hel"), piece("l")], fails: true },
      { pieces: [], fails: true },
      { pieces: [piece("Hi")] },
    );
    const { deltas, result } = await deltasOf({ promptExecutor });
    expect(result).toMatchObject({ output: "Hi" });
    expect(asked()).toBe(3);
    expect(deltas.map((delta) => ("text" in delta ? delta.text : delta.type))).toEqual(["Hel", "l", "restart", "Hi"]);
    expect(new Set(deltas.map(({ requestId }) => requestId)).size).toBe(1);
  });

  it("receives restart if a node repeats a failed request itself", async () => {
    const { promptExecutor } = streaming({ pieces: [piece("Hel")], fails: true }, { pieces: [piece("Hi")] });
    const graph = strategy<string, string>("s", (g) => {
      const node = g.node("node", async (_input: string, { llm }) => {
        await llm.request().catch(() => llm.request());
        return "end";
      });
      g.edge(g.start, node);
      g.edge(node, g.finish);
    });
    const { deltas } = await deltasOf({ promptExecutor, strategy: graph, modelRetry: false });
    expect(deltas.map((delta) => ("text" in delta ? delta.text : delta.type))).toEqual(["Hel", "restart", "Hi"]);
  });

  it("receives whole responses of an executor without streaming", async () => {
    const { deltas } = await deltasOf({ promptExecutor: scriptedModel(["Hello"]) });
    expect(deltas).toMatchObject([{ type: "text-delta", text: "Hello", nodeId: "callModel" }]);
  });

  it("receives a recorded response whole under its id, without a model request", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const { promptExecutor, asked } = streaming({ pieces: [piece("Hel"), piece("lo")] });
    const fault = new Fault();
    const graph = strategy<string, string>("s", (g) => {
      const node = g.node("node", async (_input: string, { llm }) => {
        await llm.request();
        fault.strike();
        return "end";
      });
      g.edge(g.start, node);
      g.edge(node, g.finish);
    });
    const agent = () =>
      new AIAgent({ promptExecutor, llmModel: "m", strategy: graph }).install(Persistence, { storage });
    const first: RunDelta[] = [];
    await expect(agent().run("x", { onDelta: (delta) => void first.push(delta) })).rejects.toThrow("stopped");
    fault.repair();
    const second: RunDelta[] = [];
    expect(await agent().resume({ onDelta: (delta) => void second.push(delta) })).toMatchObject({ output: "end" });
    expect(first).toHaveLength(2);
    expect(second).toEqual(
      ["Hel", "lo"].map((text) => ({ type: "text-delta", text, nodeId: "node", requestId: first[0]?.requestId })),
    );
    expect(asked()).toBe(1);
  });

  it("is not called again once it has thrown, and the run continues", async () => {
    const { promptExecutor } = streaming({ pieces: [piece("Hel"), piece("lo")] });
    let calls = 0;
    const agent = new AIAgent({ promptExecutor, llmModel: "m" });
    const onDelta = () => {
      calls++;
      throw new Error("The socket is closed.");
    };
    expect(await agent.run("x", { onDelta })).toMatchObject({ output: "Hello" });
    expect(calls).toBe(1);
  });

  it("receives no parts of an abandoned request", async () => {
    let late: ((delta: ModelDelta) => void) | undefined;
    const promptExecutor: PromptExecutor = {
      execute: () => Promise.reject(new Error("It was to stream.")),
      async stream(_request, onDelta) {
        late = onDelta;
        throw new RangeError("no");
      },
    };
    const deltas: RunDelta[] = [];
    const agent = new AIAgent({ promptExecutor, llmModel: "m" });
    await expect(agent.run("x", { onDelta: (delta) => void deltas.push(delta) })).rejects.toThrow("no");
    late?.(piece("late"));
    expect(deltas).toEqual([]);
  });

  it("that is omitted makes the run call execute() instead of stream()", async () => {
    const { promptExecutor } = streaming();
    await expect(new AIAgent({ promptExecutor, llmModel: "m" }).run("x")).rejects.toThrow("It was to stream.");
  });
});

describe.each([true, false])("streams of parallel lines (durable: %s)", (isDurable) => {
  it("name the branch and the agent, and give each response a separate id", async () => {
    const both = gate<void>();
    let asked = 0;
    const promptExecutor: PromptExecutor = {
      execute: () => Promise.reject(new Error("It was to stream.")),
      async stream({ messages }, onDelta) {
        const content = messages.at(-1)?.content;
        const text = typeof content === "string" ? content : "";
        onDelta(piece(text[0] ?? ""));
        if (++asked === 4) both.open();
        await both.opened;
        onDelta(piece(text.slice(1)));
        return { message: { role: "assistant", content: [{ type: "text", text }] } };
      },
    };
    const say = async (text: string, { llm }: AgentContext) => {
      llm.append({ role: "user", content: text });
      return textOf(await llm.request());
    };
    const install = <Input, Output>(agent: AIAgent<Input, Output>) =>
      isDurable ? agent.install(Persistence, { storage: new InMemoryPersistenceStorageProvider() }) : agent;
    const callee = strategy<string, string>("callee", (graph) => {
      const reply = graph.node("reply", say);
      graph.edge(graph.start, reply);
      graph.edge(reply, graph.finish);
    });
    const helper = install(new AIAgent({ llmModel: "m", promptExecutor, strategy: callee })).asTool({
      name: "helper",
      description: "",
      inputSchema: z.string(),
      input: (text) => text,
    });
    const built = strategy<string, string>("s", (graph) => {
      const one = graph.node("one", async (text: string, context) => say(`${text}1`, context));
      const two = graph.node("two", async (text: string, context) => say(`${text}2`, context));
      const help = graph.node("help", async (text: string, { tools }) =>
        (await Promise.all(["3", "4"].map((at) => tools.call(helper, `${text}${at}`)))).join(),
      );
      const all = graph.parallel("all", { one, two, help }, (results) => Object.values(results).join());
      graph.edge(graph.start, all);
      graph.edge(all, graph.finish);
    });
    const deltas: RunDelta[] = [];
    const agent = install(new AIAgent({ llmModel: "m", promptExecutor, strategy: built, tools: [helper] }));
    expect(await agent.run("x", { onDelta: (delta) => void deltas.push(delta) })).toMatchObject({
      output: "x1,x2,x3,x4",
    });
    const texts = new Map<string, string>();
    for (const delta of deltas)
      if ("text" in delta) texts.set(delta.requestId, `${texts.get(delta.requestId) ?? ""}${delta.text}`);
    expect([...texts.values()].toSorted()).toEqual(["x1", "x2", "x3", "x4"]);
    const places = deltas.map(({ nodeId, branch, agentPath }) => [nodeId, branch, agentPath]);
    const helped = ["reply", "all#help", ["helper"]];
    expect(places).toEqual(
      expect.arrayContaining([["one", "all#one", undefined], ["two", "all#two", undefined], helped]),
    );
    expect(places.filter(([node]) => node === "reply")).toEqual([helped, helped, helped, helped]);
  });
});
