import {
  Agent,
  type AgentOutputItem,
  type MCPServer,
  type ModelRequest,
  type ModelResponse,
  run,
  tool,
} from "@openai/agents-core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { InMemoryPersistenceStorageProvider } from "../../../src/index.ts";
import { DurableRunner, PersistenceSession } from "../../../src/openai-agents.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { calls, FakeModel, type Reply, resultsIn, says } from "./fakeModel.ts";

/** A runner, and a model that answers no more once it has answered so often, until it is up again. */
function world() {
  const storage = new InMemoryPersistenceStorageProvider();
  const runner = new DurableRunner({ storage });
  const state = { answersLeft: Number.POSITIVE_INFINITY };
  const modelOf = (reply: Reply) =>
    new FakeModel((items, request) => {
      if (state.answersLeft === 0) return new Error("overloaded");
      state.answersLeft--;
      return reply(items, request);
    });
  const cutOff = async (agent: Agent, answers: number): Promise<void> => {
    state.answersLeft = answers;
    await expect(runner.run(agent, "Go.", { agentId: "a" })).rejects.toThrow("overloaded");
    state.answersLeft = Number.POSITIVE_INFINITY;
  };
  return { storage, runner, modelOf, cutOff };
}

/** Looks as often as asked, then says what it has seen. */
const looking =
  (times: number): Reply =>
  (items) => {
    const seen = resultsIn(items);
    return seen.length < times ? [calls("look", { at: seen.length }, "call_0")] : [says(seen.join())];
  };

function lookTool(looked: number[]) {
  return tool({
    name: "look",
    description: "Looks.",
    parameters: z.object({ at: z.number() }),
    execute: ({ at }) => `seen ${looked.push(at)}`,
  });
}

/** A model whose provider sends more than its answer. */
class ChattyModel extends FakeModel {
  override async getResponse(request: ModelRequest): Promise<ModelResponse> {
    const providerData = { headers: { authorization: "secret" } };
    return { ...(await super.getResponse(request)), requestId: "request-1", providerData };
  }
}

describe("a durable run of an agent of OpenAI Agents", () => {
  it("returns the provider's repeated ids to it and gives tools unique ids of the library", async () => {
    const { runner, modelOf } = world();
    const ids: (string | undefined)[] = [];
    const look = tool({
      name: "look",
      description: "Looks.",
      parameters: z.object({ at: z.number() }),
      execute: (_input, _context, details) => `seen ${ids.push(details?.toolCall?.callId)}`,
    });
    const model = modelOf(looking(2));
    const { newItems } = await runner.run(new Agent({ name: "desk", model, tools: [look] }), "Go.", { agentId: "a" });
    const last = model.requests.at(-1)?.input;
    const shown = (Array.isArray(last) ? last : []).flatMap((item) => ("callId" in item ? item.callId : []));
    expect(shown).toEqual(["call_0", "call_0", "call_0", "call_0"]);
    expect(new Set(ids).size).toBe(2);
    const inResult = newItems.flatMap(({ rawItem }) => (rawItem && "callId" in rawItem ? rawItem.callId : []));
    expect(new Set(inResult)).toEqual(new Set(ids));
  });

  it("returns the provider's ids in a later run of the same session", async () => {
    const { storage, runner, modelOf } = world();
    const model = modelOf(looking(1));
    const agent = new Agent({ name: "desk", model, tools: [lookTool([])] });
    for (const agentId of ["a", "b"]) {
      await using session = new PersistenceSession({ storage, sessionId: "talk" });
      await runner.run(agent, "Go.", { agentId, session });
      await session.prune();
    }
    const { input } = model.requests.at(-1) ?? {};
    const shown = (Array.isArray(input) ? input : []).flatMap((item) => ("callId" in item ? item.callId : []));
    expect(shown).toEqual(["call_0", "call_0"]);
    expect(model.requests).toHaveLength(3);
  });

  it("keeps its recorded responses when the instructions change", async () => {
    const { runner, modelOf, cutOff } = world();
    let now = "Monday";
    const looked: number[] = [];
    const model = modelOf(looking(1));
    const agent = new Agent({ name: "desk", instructions: () => `It is ${now}.`, model, tools: [lookTool(looked)] });
    await cutOff(agent, 1);
    now = "Tuesday";
    const { finalOutput } = await runner.resume(agent, { agentId: "a" });
    expect(finalOutput).toBe("seen 1");
    expect(looked).toEqual([0]);
    const asked = model.requests.map(({ systemInstructions }) => systemInstructions);
    expect(asked).toEqual(["It is Monday.", "It is Monday.", "It is Tuesday."]);
  });

  it("keeps usage, ids and item metadata of the provider, without the raw response", async () => {
    const { storage, runner } = world();
    const item: AgentOutputItem = { ...says("done"), providerData: { annotations: ["kept"] } } as AgentOutputItem;
    const model = new ChattyModel(() => [item]);
    const agent = new Agent({ name: "desk", model });
    const options = { agentId: "a", runId: "first" };
    const [{ providerData: _sent, ...first } = {}] = (await runner.run(agent, "Go.", options)).rawResponses;
    const [again] = (await runner.run(agent, "Go.", options)).rawResponses;
    expect(again).toEqual(first);
    expect(again).toMatchObject({ requestId: "request-1", responseId: "response-1", output: [item] });
    expect(JSON.stringify(await collect(storage.log.read("a")))).not.toMatch("secret");
  });

  it("records and replays responses of agents that a tool runs as part of its call", async () => {
    const controller = new AbortController();
    const looked: number[] = [];
    const look = tool({
      name: "look",
      description: "Looks; the second one is cut off.",
      parameters: z.object({ at: z.number() }),
      execute: async ({ at }) => {
        if (looked.push(at) !== 2) return `seen ${looked.length}`;
        controller.abort(new Error("cut off"));
        return new Promise<string>(() => {});
      },
    });
    const inner = new FakeModel(looking(1));
    const helper = new Agent({ name: "helper", model: inner, tools: [look] });
    const ask = tool({
      name: "ask",
      description: "Asks twice, at once.",
      parameters: z.object({}),
      execute: async () => {
        const both = await Promise.all([run(helper, "Help."), run(helper, "Help again.")]);
        return both.map(({ finalOutput }) => finalOutput).join(" and ");
      },
    });
    const outer = new FakeModel((items) => {
      const results = resultsIn(items);
      return results.length === 0 ? [calls("ask", {})] : [says(results.join())];
    });
    const agent = new Agent({ name: "desk", model: outer, tools: [ask] });
    const runner = new DurableRunner({
      storage: new InMemoryPersistenceStorageProvider(),
      tools: { ask: { effect: "none" }, look: { effect: "idempotent" } },
      abortGraceMs: 0,
    });
    const { signal } = controller;
    await expect(runner.run(agent, "Go.", { agentId: "a", signal })).rejects.toThrow("cut off");
    const { finalOutput } = await runner.resume(agent, { agentId: "a" });
    expect(finalOutput).toBe("seen 1 and seen 3");
    expect(looked).toEqual([0, 0, 0]);
    expect([outer.requests.length, inner.requests.length]).toEqual([2, 4]);
  });

  it("records calls of MCP server tools", async () => {
    const { runner, modelOf, cutOff } = world();
    const called: string[] = [];
    const server: MCPServer = {
      name: "shop",
      cacheToolsList: false,
      connect: async () => {},
      close: async () => {},
      invalidateToolsCache: async () => {},
      listTools: async () => [
        {
          name: "look",
          inputSchema: {
            type: "object",
            properties: { at: { type: "number" } },
            required: ["at"],
            additionalProperties: false,
          },
        },
      ],
      callTool: async (name) => {
        called.push(name);
        return [{ type: "text", text: "seen 1" }];
      },
    };
    const model = modelOf(looking(1));
    const agent = new Agent({ name: "desk", model, mcpServers: [server] });
    await cutOff(agent, 1);
    const { finalOutput } = await runner.resume(agent, { agentId: "a" });
    expect(finalOutput).toContain("seen 1");
    expect(called).toEqual(["look"]);
  });

  it("returns a structured output, even in a replay", async () => {
    const { runner, modelOf } = world();
    const outputType = z.object({ cents: z.number() });
    const agent = new Agent({ name: "desk", model: modelOf(() => [says('{ "cents": 900 }')]), outputType });
    const options = { agentId: "a", runId: "first" };
    const { finalOutput } = await runner.run(agent, "Go.", options);
    expect(finalOutput).toEqual({ cents: 900 });
    expect((await runner.run(agent, "Go.", options)).finalOutput).toEqual(finalOutput);
  });

  it("continues without a reader of its stream until it is cancelled", async () => {
    const { runner, modelOf } = world();
    const looked: number[] = [];
    let atTool = () => {};
    const isAtTool = new Promise<void>((resolve) => (atTool = resolve));
    const wait = tool({
      name: "look",
      description: "Waits for its end.",
      parameters: z.object({ at: z.number() }),
      execute: async ({ at }, _context, details) => {
        looked.push(at);
        atTool();
        if (at === 1) await new Promise((resolve) => details?.signal?.addEventListener("abort", resolve));
        return "seen";
      },
    });
    const agent = new Agent({ name: "desk", model: modelOf(looking(3)), tools: [wait] });
    const stream = await runner.run(agent, "Go.", { agentId: "a", stream: true });
    await isAtTool;
    await expect.poll(() => looked).toEqual([0, 1]);
    await runner.agent("a").cancel("not needed any more");
    await expect(stream.completed).rejects.toMatchObject({ code: "stop_requested" });
    expect(looked).toEqual([0, 1]);
    await expect(runner.resume(agent, { agentId: "a" })).rejects.toMatchObject({ code: "nothing_to_resume" });
  });
});

it.each([
  [{ modelProvider: {} }, /unknown option "modelProvider"; the options are storage, .*tools, config/],
  [{ tool: {} }, 'unknown option "tool"; did you mean "tools"'],
  [{ confg: {} }, 'unknown option "confg"; did you mean "config"'],
  [{ rollbackToolRegistry: {} }, 'unknown option "rollbackToolRegistry"'],
])("a DurableRunner refuses the unknown option of %j and lists its own", (options, message) => {
  const storage = new InMemoryPersistenceStorageProvider();
  expect(() => new DurableRunner({ storage, ...options } as never)).toThrow(message);
});
