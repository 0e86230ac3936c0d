import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { AIAgent } from "../../src/agent/AIAgent.ts";
import type { AgentContext } from "../../src/agent/context/AgentContext.ts";
import { callOf, nodeInputOf, runOf, visitOf } from "../../src/agent/feature/ContextBinding.ts";
import type { ToolCallEvent } from "../../src/agent/feature/PipelineEvents.ts";
import type { RunStart } from "../../src/agent/feature/RunRequest.ts";
import { strategy } from "../../src/agent/strategy/Strategy.ts";
import { tool, type AnyTool } from "../../src/agent/tool/Tool.ts";
import type { AssistantMessage, ToolMessage } from "../../src/checkpoint/messages/Message.ts";
import { InvalidInputError } from "../../src/errors/agentErrors.ts";
import { ToolFailedError } from "../../src/errors/toolCallErrors.ts";
import { nextTurn } from "../../src/internal/nextTurn.ts";
import { scriptedModel, type ScriptedTurn } from "../../src/testing/doubles/scriptedModel.ts";
import { gate } from "./gate.ts";
import { otherRun } from "./otherRun.ts";
import { testFeature } from "./testFeature.ts";

const double = tool({
  name: "double",
  description: "",
  inputSchema: z.object({ n: z.number() }),
  execute: ({ n }) => n * 2,
});
const broken = tool({
  name: "broken",
  description: "",
  inputSchema: z.object({}),
  execute: () => {
    throw new RangeError("out of order");
  },
});

const line = { agentId: "a", runId: "r", lane: 1 };
const startAt = (change: Partial<RunStart> = {}): RunStart => ({
  nodeId: "start",
  input: "in",
  state: {},
  line,
  generation: 7,
  visitBase: 40,
  visitOrdinal: 0,
  runId: "r",
  ...change,
});

interface Setup {
  readonly start?: RunStart;
  readonly turns?: readonly ScriptedTurn[];
  readonly tools?: readonly AnyTool[];
  readonly signal?: AbortSignal;
  readonly aroundToolCall?: (
    event: ToolCallEvent,
    next: (event: ToolCallEvent) => Promise<unknown>,
  ) => Promise<unknown>;
}

/** Runs one node body. */
async function inNode<Output>(body: (context: AgentContext) => Promise<Output>, setup: Setup = {}): Promise<Output> {
  const { start = startAt(), turns = [], tools = [double, broken], signal, aroundToolCall } = setup;
  const outputs: Output[] = [];
  const one = strategy<string, string>("one", (graph) => {
    const node = graph.node("node", async (_input: string, context) => void outputs.push(await body(context)));
    graph.edge(graph.start, node);
    graph.edge(node, graph.finish, { map: () => "" });
  });
  const agent = new AIAgent({
    id: "a",
    llmModel: "m",
    promptExecutor: scriptedModel(turns),
    strategy: one,
    tools,
  }).install(
    testFeature((pipeline) => {
      pipeline.aroundRun((request, next) => next({ ...request, start }));
      if (aroundToolCall) pipeline.aroundToolCall(aroundToolCall);
    }),
  );
  await agent.run("in", { ...(signal && { signal }) });
  return outputs[0]!;
}

const asking = (
  ...calls: readonly { readonly toolName: string; readonly input: unknown }[]
): readonly ScriptedTurn[] => [{ toolCalls: calls }];
const callParts = (message: AssistantMessage) =>
  typeof message.content === "string" ? [] : message.content.filter((part) => part.type === "tool-call");
const resultParts = (message: ToolMessage) => message.content.filter((part) => part.type === "tool-result");
const handMade = (...ids: readonly string[]): AssistantMessage => ({
  role: "assistant",
  content: [
    { type: "text", text: "hm" },
    ...ids.map((toolCallId, n) => ({ type: "tool-call" as const, toolCallId, toolName: "double", input: { n } })),
  ],
});

describe("ids of tool calls", () => {
  const everyWay = async (context: AgentContext) => {
    const ids: string[] = [];
    const note = tool({
      name: "note",
      description: "",
      inputSchema: z.object({}),
      execute: (_input, { toolCallId }) => void ids.push(toolCallId),
    });
    const asked = callParts(await context.llm.request()).map(({ toolCallId }) => toolCallId);
    await context.tools.call(note, {});
    await Promise.all([context.tools.call(note, {}), context.tools.call(note, {})]);
    const results = resultParts(await context.tools.execute(handMade("x", "x"))).map(({ toolCallId }) => toolCallId);
    return [...asked, ...ids, ...results];
  };
  const turns = asking({ toolName: "double", input: { n: 1 } }, { toolName: "double", input: { n: 2 } });

  it("are unique, and equal at the same position of the same lane", async () => {
    const first = await inNode(everyWay, { turns });
    expect(new Set(first).size).toBe(7);
    for (const id of first) expect(id).toMatch(/^[\w-]{22}$/);
    expect(await inNode(everyWay, { turns })).toEqual(first);
  });

  it.each([
    { line: { ...line, lane: 2 } },
    { line: { ...line, runId: "other" } },
    { line: { ...line, agentId: "other" } },
    { visitBase: 41 },
    { visitOrdinal: 1 },
  ])("differ for %j", async (change) => {
    const [here, there] = [
      await inNode(everyWay, { turns }),
      await inNode(everyWay, { turns, start: startAt(change) }),
    ];
    expect(new Set([...here, ...there]).size).toBe(14);
  });

  it("are written into the model's response, next to the provider's ids", async () => {
    const answer = await inNode((context) => context.llm.request(), { turns });
    expect(callParts(answer).map(({ providerToolCallId }) => providerToolCallId)).toEqual(["call_0", "call_1"]);
    expect(Object.isFrozen(answer)).toBe(true);
  });

  it("are equal whichever of two parallel calls of a tool starts first", async () => {
    const run = async (late: "a" | "b") => {
      const ids: Record<string, string> = {};
      const inner = tool({
        name: "inner",
        description: "",
        inputSchema: z.string(),
        execute: (who, { toolCallId }) => void (ids[who] = toolCallId),
      });
      const opened = gate();
      const outer = tool({
        name: "outer",
        description: "",
        inputSchema: z.string(),
        execute: async (who, { context }) => {
          if (who === late) await opened.opened;
          await context.tools.call(inner, who);
          opened.open();
        },
      });
      await inNode((context) => Promise.all([context.tools.call(outer, "a"), context.tools.call(outer, "b")]));
      return ids;
    };
    const [one, other] = [await run("a"), await run("b")];
    expect(one).toEqual(other);
    expect(one["a"]).not.toBe(one["b"]);
  });

  it("advance even if an interceptor responds", async () => {
    const ids = async (answered: number) => {
      const seen: string[] = [];
      await inNode((context) => Promise.all([1, 2, 3].map((n) => context.tools.call(double, { n }))), {
        aroundToolCall: async (event, next) => {
          seen.push(event.toolCallId);
          return seen.length <= answered ? 0 : next(event);
        },
      });
      return seen;
    };
    expect(await ids(2)).toEqual(await ids(0));
  });

  it("of a foreign message are replaced, in the history as well", async () => {
    const foreign = handMade("old-1", "old-2");
    const [results, messages] = await inNode(
      async (context) =>
        [await context.tools.execute(context.llm.messages[0] as AssistantMessage), context.llm.messages] as const,
      { start: startAt({ state: { messages: [{ number: 1, message: foreign }], numbers: { next: 2 } } }) },
    );
    const shown = callParts(messages[0] as AssistantMessage);
    expect(shown.map(({ toolCallId }) => toolCallId)).toEqual(resultParts(results).map(({ toolCallId }) => toolCallId));
    expect(shown.map(({ providerToolCallId }) => providerToolCallId)).toEqual(["old-1", "old-2"]);
    expect(resultParts(results).map(({ providerToolCallId }) => providerToolCallId)).toEqual(["old-1", "old-2"]);
    expect(messages).toHaveLength(1);
  });

  it("match a message in the history by equal ids, and leave other messages unchanged", async () => {
    const messages = await inNode(async (context) => {
      context.llm.append(handMade("p"), { role: "user", content: "between" }, handMade("q"));
      await context.tools.execute(handMade("p"));
      return context.llm.messages;
    });
    expect(
      messages.map((message) => (message.role === "assistant" ? callParts(message)[0]?.toolCallId.length : 0)),
    ).toEqual([22, 0, 1]);
  });

  it("of a message of this lane are kept", async () => {
    const [answer, results] = await inNode(
      async (context) => {
        const message = await context.llm.request();
        return [message, await context.tools.execute(structuredClone(message) as AssistantMessage)] as const;
      },
      { turns },
    );
    expect(resultParts(results).map(({ toolCallId }) => toolCallId)).toEqual(
      callParts(answer).map(({ toolCallId }) => toolCallId),
    );
  });
});

describe("repeated ids", () => {
  it("in one message belong to two calls", async () => {
    const results = await inNode(
      async (context) => {
        const [part] = callParts(await context.llm.request());
        return context.tools.execute({ role: "assistant", content: [part!, part!] });
      },
      { turns: asking({ toolName: "double", input: { n: 1 } }) },
    );
    expect(new Set(resultParts(results).map(({ toolCallId }) => toolCallId)).size).toBe(2);
  });
});

describe("tools.execute", () => {
  it("runs the calls of a message at once and returns results in their order", async () => {
    const order: string[] = [];
    const gates = { a: gate(), b: gate() };
    const wait = tool({
      name: "wait",
      description: "",
      inputSchema: z.enum(["a", "b"]),
      execute: async (who) => {
        order.push(`begin ${who}`);
        if (who === "b") gates.a.open();
        await gates[who].opened;
        order.push(`end ${who}`);
        gates.b.open();
        return who;
      },
    });
    const results = await inNode(async (context) => context.tools.execute(await context.llm.request()), {
      turns: asking({ toolName: "wait", input: "a" }, { toolName: "wait", input: "b" }),
      tools: [wait],
    });
    expect(order).toEqual(["begin a", "begin b", "end a", "end b"]);
    expect(resultParts(results).map(({ output }) => output)).toEqual(["a", "b"]);
    expect(Object.isFrozen(results)).toBe(true);
  });

  it("reports unknown tools, invalid input and failures to the model", async () => {
    const seen: string[] = [];
    const results = await inNode(async (context) => context.tools.execute(await context.llm.request()), {
      turns: asking(
        { toolName: "nope", input: {} },
        { toolName: "double", input: { n: "2" } },
        { toolName: "broken", input: {} },
        { toolName: "double", input: { n: 4 } },
      ),
      aroundToolCall: (event, next) => (seen.push(event.tool.name), next(event)),
    });
    expect(resultParts(results).map(({ output, isError }) => ({ output, isError }))).toEqual([
      { output: 'There is no tool "nope". The tools are: "double", "broken".', isError: true },
      { output: expect.stringContaining('"n"'), isError: true },
      { output: "out of order", isError: true },
      { output: 8, isError: undefined },
    ]);
    expect(seen).toEqual(["broken", "double"]);
  });

  it("passes the message and the part that requested the call", async () => {
    const asked: ToolCallEvent["origin"][] = [];
    const message = await inNode(
      async (context) => {
        const answer = await context.llm.request();
        await context.tools.execute(answer);
        return answer;
      },
      {
        turns: [{ text: "let me see", toolCalls: [{ toolName: "double", input: { n: 1 } }] }],
        aroundToolCall: (event, next) => (asked.push(event.origin), next(event)),
      },
    );
    expect(asked).toEqual([{ kind: "model", message, index: 1 }]);
    expect(asked[0]?.kind === "model" && asked[0].message).toBe(message);
  });
});

describe("tools.call", () => {
  it("returns the tool's output, and rejects with the tool's error as the cause", async () => {
    expect(await inNode((context) => context.tools.call(double, { n: 4 }))).toBe(8);
    const failed = await inNode((context) => context.tools.call(broken, {}).catch((error: unknown) => error));
    expect(failed).toBeInstanceOf(ToolFailedError);
    expect(failed).toMatchObject({
      code: "tool_failed",
      toolName: "broken",
      reason: "out of order",
      cause: new RangeError("out of order"),
    });
  });

  it("refuses an invalid input before any interceptor sees it", async () => {
    const seen: unknown[] = [];
    const refused = await inNode(
      (context) => context.tools.call(double, { n: "4" } as never).catch((error: unknown) => error),
      {
        aroundToolCall: (event, next) => (seen.push(event), next(event)),
      },
    );
    expect(refused).toBeInstanceOf(InvalidInputError);
    expect(seen).toEqual([]);
  });

  it("passes the parsed input to the tool and the original input to interceptors", async () => {
    const seen: unknown[] = [];
    const coerce = tool({
      name: "coerce",
      description: "",
      inputSchema: z.object({ n: z.coerce.number().default(3) }),
      execute: ({ n }) => n,
    });
    const note: Setup = { aroundToolCall: (event, next) => (seen.push(event.input), next(event)) };
    expect(await inNode((context) => context.tools.call(coerce, { n: "5" }), note)).toBe(5);
    expect(await inNode((context) => context.tools.call(coerce, {}), note)).toBe(3);
    expect(seen).toEqual([{ n: "5" }, {}]);
  });

  it("lets an interceptor change the input, which is checked again", async () => {
    const changed = (input: unknown): Setup => ({ aroundToolCall: (event, next) => next({ ...event, input }) });
    expect(await inNode((context) => context.tools.call(double, { n: 1 }), changed({ n: 21 }))).toBe(42);
    await expect(inNode((context) => context.tools.call(double, { n: 1 }), changed({}))).rejects.toThrow(
      InvalidInputError,
    );
  });

  it("fails the run with an interceptor's error, even if the node catches it", async () => {
    const aroundToolCall = async () => {
      throw new RangeError("storage is gone");
    };
    const turns = asking({ toolName: "double", input: { n: 1 } });
    await expect(
      inNode((context) => context.tools.call(double, { n: 1 }).catch(() => 0), { aroundToolCall }),
    ).rejects.toThrow("storage is gone");
    await expect(
      inNode(async (context) => context.tools.execute(await context.llm.request()), { turns, aroundToolCall }),
    ).rejects.toThrow("storage is gone");
  });

  it("does not fail the run if an interceptor replays a failure", async () => {
    const aroundToolCall = async ({ toolCallId }: ToolCallEvent) => {
      throw new ToolFailedError("double", toolCallId, "as recorded");
    };
    expect(
      await inNode((context) => context.tools.call(double, { n: 1 }).catch((error: ToolFailedError) => error.reason), {
        aroundToolCall,
      }),
    ).toBe("as recorded");
  });

  it("gives the tool a separate context that knows the call", async () => {
    const contexts: AgentContext[] = [];
    const look = tool({
      name: "look",
      description: "",
      inputSchema: z.object({}),
      execute: (_input, { context, toolCallId, generation, messages, abortSignal }) => {
        contexts.push(context);
        return { toolCallId, generation, messages, aborted: abortSignal.aborted };
      },
    });
    const [node, output] = await inNode(async (context) => {
      context.llm.append({ role: "user", content: "x" });
      return [context, await context.tools.call(look, {})] as const;
    });
    expect(output).toEqual({
      toolCallId: expect.any(String),
      generation: 7,
      messages: [{ role: "user", content: "x" }],
      aborted: false,
    });
    expect(callOf(contexts[0]!)).toEqual({ toolCallId: output.toolCallId });
    expect(callOf(node)).toBeUndefined();
    for (const context of [node, contexts[0]!]) {
      expect(runOf(context).runId).toBe("r");
      expect(visitOf(context)).toEqual({ base: 40, ordinal: 0 });
      expect(nodeInputOf(context)).toBe("in");
    }
    expect(() => runOf({ ...node })).toThrow(TypeError);
  });

  it("inside a tool fails the run, not the tool, with an interceptor's error", async () => {
    const outer = tool({
      name: "outer",
      description: "",
      inputSchema: z.object({}),
      execute: (_input, { context }) => context.tools.call(double, { n: 1 }),
    });
    const outcomes: unknown[] = [];
    const aroundToolCall: Setup["aroundToolCall"] = async (event, next) => {
      if (event.tool === double) throw new RangeError("storage is gone");
      return next(event).catch((error: unknown) => {
        outcomes.push(error);
        throw error;
      });
    };
    const run = inNode((context) => context.tools.call(outer, {}), { aroundToolCall });
    await expect(run).rejects.toThrow(new RangeError("storage is gone"));
    expect(outcomes).toEqual([new RangeError("storage is gone")]);
  });

  it("is awaited by the run even if the call starts after its node has returned", async () => {
    const [first, second] = [gate(), gate()];
    const ended: string[] = [];
    const wait = tool({
      name: "wait",
      description: "",
      inputSchema: z.enum(["first", "second"]),
      execute: async (which) => {
        if (which === "second") first.open();
        await (which === "first" ? first : second).opened;
        ended.push(which);
      },
    });
    await inNode(
      async (context) => {
        void context.tools.call(wait, "first");
        void otherRun().then(() => {
          void context.tools.call(wait, "second");
          return otherRun().then(second.open);
        });
      },
      { tools: [wait] },
    );
    expect(ended).toEqual(["first", "second"]);
  });

  it("is awaited by the run if its node does not await it", async () => {
    const events: string[] = [];
    const slow = gate();
    const late = tool({
      name: "late",
      description: "",
      inputSchema: z.object({}),
      execute: () => slow.opened.then(() => void events.push("tool")),
    });
    const run = inNode(
      async (context) => {
        void context.tools.call(late, {});
        void otherRun().then(slow.open);
      },
      { tools: [late] },
    );
    await run;
    expect(events).toEqual(["tool"]);
  });
});

describe("a message that is executed after an abort", () => {
  it("leaves no unhandled rejection if its calls cannot be found", async () => {
    const unhandled = vi.fn<() => void>();
    process.on("unhandledRejection", unhandled);
    onTestFinished(() => void process.off("unhandledRejection", unhandled));
    const controller = new AbortController();
    const { signal } = controller;
    const start = startAt({ findCalls: () => Promise.reject(new RangeError("unreadable")) });
    const aborting = async (context: AgentContext) => {
      controller.abort(new RangeError("enough"));
      await context.tools.execute(handMade("x"));
    };
    await expect(inNode(aborting, { start, signal })).rejects.toThrow("enough");
    await nextTurn();
    expect(unhandled).not.toHaveBeenCalled();
  });
});
