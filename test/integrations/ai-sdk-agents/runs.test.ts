import type { LanguageModelV3StreamPart } from "@ai-sdk/provider";
import type { UIMessage } from "ai";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { type Durable, durableAgent, durableRun } from "agent-persistence/ai-sdk";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { calling, type Scripted, type ScriptedModel, scriptedModel, streamOf, text } from "./support/scriptedModel.ts";
import { type Sdk, sdks } from "./support/sdks.ts";
import { chunksOf, messageOf } from "./support/uiStream.ts";

/** A refund desk whose tools count their calls. */
function refundDesk(
  sdk: Sdk,
  script: readonly Scripted[],
  { storage = new InMemoryPersistenceStorageProvider(), maxRetries = 0 } = {},
) {
  const { stepCountIs, tool, ToolLoopAgent } = sdk.ai;
  const model = scriptedModel(script, sdk);
  const found: { id: string; toolCallId: string }[] = [];
  const find = tool({
    inputSchema: z.object({ id: z.string() }),
    execute: async ({ id }, { toolCallId }) => {
      found.push({ id, toolCallId });
      return { id, cents: 900 };
    },
  });
  const live: boolean[] = [];
  const desk = durableAgent(
    { storage },
    (durable) =>
      new ToolLoopAgent({
        id: "desk",
        model: durable.model(model),
        instructions: `It is now ${model.asked.length}.`,
        tools: durable.tools({ find }, { find: { effect: "idempotent" } }),
        stopWhen: stepCountIs(8),
        maxRetries,
        onStepFinish: () => void live.push(durable.live),
      }),
  );
  return { storage, model, found, desk, live };
}

const twoOrders = [[calling("find", { id: "7" }), calling("find", { id: "8" })], [calling("find", { id: "9" })]];

describe.each(sdks)("a durable agent of the AI SDK $version", (sdk) => {
  it("are refused with a tool whose calls would not be recorded", () => {
    const { tool, ToolLoopAgent } = sdk.ai;
    const find = tool({ inputSchema: z.object({}), execute: () => "found" });
    const define = (isWrapped: boolean) => () =>
      durableAgent({ storage: new InMemoryPersistenceStorageProvider() }, (durable) => {
        const tools = isWrapped ? durable.tools({ find }) : { find };
        return new ToolLoopAgent({ model: durable.model(scriptedModel([], sdk)), tools });
      });
    expect(define(true)).not.toThrow();
    expect(define(false)).toThrow(
      expect.objectContaining({ code: "invalid_input", message: expect.stringContaining("tools.find") as unknown }),
    );
  });

  it.each(["agentId", "live", "signal"] as const)(
    "says where to read durable.%s instead of in the definition",
    (name) => {
      const define = () =>
        durableAgent({ storage: new InMemoryPersistenceStorageProvider() }, (durable) => {
          const model = durable.model(scriptedModel([], sdk));
          return new sdk.ai.ToolLoopAgent({ model, instructions: JSON.stringify(durable[name]) });
        });
      expect(define).toThrow(
        `durable.${name} is unknown while durableAgent(…) creates its definition. Read it in a tool`,
      );
    },
  );

  it("continues after a failed request from its records, without counting the failed request", async () => {
    const { desk, model, found, live } = refundDesk(sdk, [
      twoOrders[0]!,
      { failsWith: new Error("overloaded"), afterwards: twoOrders[1]! },
      text("Done."),
    ]);
    await expect(desk.for("a").generate({ prompt: "Find them." })).rejects.toThrow("overloaded");
    live.length = 0;
    const result = await desk.for("a").resume();
    expect(result.text).toBe("Done.");
    expect(found.map(({ id }) => id)).toEqual(["7", "8", "9"]);
    expect(model.asked).toHaveLength(4);
    expect(live).toEqual([false, true, true]);
  });

  it.each([undefined, {}, { content: [null], finishReason: "stop" }])(
    "refuses a malformed response: %j",
    async (answer) => {
      const model = { ...scriptedModel([text("x")], sdk), doGenerate: async () => answer as never };
      const agents = durableAgent(
        { storage: new InMemoryPersistenceStorageProvider() },
        (durable) => new sdk.ai.ToolLoopAgent({ model: durable.model(model), maxRetries: 0 }),
      );
      const run = agents.for("a").generate({ prompt: "x" });
      await expect(run).rejects.toMatchObject({ code: "model_answer_malformed", provider: "test" });
    },
  );

  it("refuses an interrupted response", async () => {
    const scripted = scriptedModel([text("It is")], sdk);
    const finishReason = { unified: "interrupted" as never, raw: undefined };
    const doGenerate: typeof scripted.doGenerate = async (call) => ({
      ...(await scripted.doGenerate(call)),
      finishReason,
    });
    const agents = durableAgent(
      { storage: new InMemoryPersistenceStorageProvider() },
      (durable) => new sdk.ai.ToolLoopAgent({ model: durable.model({ ...scripted, doGenerate }), maxRetries: 0 }),
    );
    const run = agents.for("a").generate({ prompt: "x" });
    await expect(run).rejects.toMatchObject({ code: "model_answer_incomplete" });
  });

  it("records a request that the AI SDK retries as one request", async () => {
    const overloaded = new sdk.ai.APICallError({
      message: "overloaded",
      url: "test",
      requestBodyValues: {},
      statusCode: 529,
      responseHeaders: { "retry-after-ms": "1" },
    });
    const { desk, model, found } = refundDesk(
      sdk,
      [
        { failsWith: overloaded, afterwards: twoOrders[0]! },
        { failsWith: new Error("no such order"), afterwards: text("Done.") },
      ],
      { maxRetries: 1 },
    );
    await expect(desk.for("a").generate({ prompt: "Find them." })).rejects.toThrow("no such order");
    expect((await desk.for("a").resume()).text).toBe("Done.");
    expect(model.asked).toHaveLength(4);
    expect(found).toHaveLength(2);
  });

  it("accepts a tool with the name of an Object.prototype property", async () => {
    const { tool, ToolLoopAgent } = sdk.ai;
    const model = scriptedModel([[calling("constructor", { id: "7" })], text("Done.")], sdk);
    const build = tool({ inputSchema: z.object({ id: z.string() }), execute: async ({ id }) => `built ${id}` });
    const storage = new InMemoryPersistenceStorageProvider();
    const builders = durableAgent(
      { storage },
      (durable) => new ToolLoopAgent({ model: durable.model(model), tools: durable.tools({ constructor: build }) }),
    );
    const { steps } = await builders.for("a").generate({ prompt: "Build." });
    expect(steps[0]?.toolResults).toMatchObject([{ output: "built 7" }]);
  });

  it("assigns new call ids and shows the model the ids of the provider", async () => {
    const { desk, model, found } = refundDesk(sdk, [...twoOrders, text("Done.")]);
    const result = await desk.for("a").generate({ prompt: "Find them." });
    const ids = result.steps.flatMap(({ toolCalls }) => toolCalls.map(({ toolCallId }) => toolCallId));
    expect(new Set(ids).size).toBe(3);
    expect(found.map(({ toolCallId }) => toolCallId)).toEqual(ids);
    const shown = JSON.stringify(model.asked.at(-1)?.prompt);
    expect(shown).toContain("call_1");
    for (const id of ids) expect(shown).not.toContain(id);
  });

  it("shows the model the ids of its provider in later runs of the chat", async () => {
    const { desk, model } = refundDesk(sdk, [[calling("find", { id: "7" })], text("Done."), text("As before.")]);
    const { createAgentUIStreamResponse } = sdk.ai;
    const first: UIMessage = { id: "u1", role: "user", parts: [{ type: "text", text: "Find 7." }] };
    const answer = await messageOf(await createAgentUIStreamResponse({ agent: desk.for("a"), uiMessages: [first] }));
    const uiMessages = [first, answer, { ...first, id: "u2" }];
    await chunksOf(await createAgentUIStreamResponse({ agent: desk.for("a"), uiMessages }));
    const { prompt } = model.asked.at(-1)!;
    const parts = prompt.flatMap(({ content }): readonly object[] => (typeof content === "string" ? [] : content));
    expect(parts.filter((part) => "toolCallId" in part)).toMatchObject([
      { type: "tool-call", toolCallId: "call_1" },
      { type: "tool-result", toolCallId: "call_1" },
    ]);
    expect(JSON.stringify(parts)).not.toContain("agent-persistence");
  });

  it("replays a finished run with the same result and without calls", async () => {
    const { desk, model, found, live } = refundDesk(sdk, [...twoOrders, text("Done.")]);
    const result = await desk.for("a", { runId: "r1" }).generate({ prompt: "Find them." });
    live.length = 0;
    for (const again of [
      await desk.for("a").resume(),
      await desk.for("a", { runId: "r1" }).generate({ prompt: "Find them." }),
    ]) {
      expect(again.content).toEqual(result.content);
      expect(again.totalUsage).toEqual(result.totalUsage);
      expect(again.steps.map(shown)).toEqual(result.steps.map(shown));
    }
    expect(model.asked).toHaveLength(3);
    expect(found).toHaveLength(3);
    expect(new Set(live)).toEqual(new Set([false]));
  });

  it("replays a response whose parts arrived interleaved in the order of the AI SDK", async () => {
    const usage = {
      inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 1, text: 1, reasoning: undefined },
    };
    const parts: readonly LanguageModelV3StreamPart[] = [
      { type: "tool-input-start", id: "c", toolName: "find" },
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta: "I look." },
      { type: "text-end", id: "0" },
      { type: "tool-input-delta", id: "c", delta: "{}" },
      { type: "tool-input-end", id: "c" },
      { type: "tool-call", toolCallId: "c", toolName: "find", input: "{}" },
      { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage },
    ];
    const { tool, ToolLoopAgent } = sdk.ai;
    const find = tool({ inputSchema: z.object({}), outputSchema: z.boolean() });
    const model = { ...scriptedModel([], sdk), doStream: async () => ({ stream: streamOf(parts) }) };
    const desk = durableAgent(
      { storage: new InMemoryPersistenceStorageProvider() },
      (durable) => new ToolLoopAgent({ model: durable.model(model), tools: durable.tools({ find }) }),
    );
    const streamed = await (await desk.for("a").stream({ prompt: "Find." })).content;
    expect(streamed.map(({ type }) => type)).toEqual(["text", "tool-call"]);
    expect(await (await desk.for("a").resumeStream()).content).toEqual(streamed);
    expect((await desk.for("a").resume()).content).toEqual(streamed);
  });

  it("records no headers or bodies", async () => {
    const { desk, storage } = refundDesk(sdk, [text("Done.")]);
    await desk.for("a").generate({ prompt: "Hello." });
    const entries = await entriesOf(storage);
    expect(JSON.stringify(entries)).toContain("response-0");
    expect(JSON.stringify(entries)).not.toContain("the secret");
  });

  it("rejects if an unwrapped model requests calls, and sends it no results", async () => {
    const { tool, ToolLoopAgent } = sdk.ai;
    const model = scriptedModel([[calling("find", { id: "7" })], text("never asked for")], sdk);
    const find = tool({ inputSchema: z.object({ id: z.string() }), execute: async ({ id }) => id });
    const desk = durableAgent(
      { storage: new InMemoryPersistenceStorageProvider() },
      (durable) => new ToolLoopAgent({ model, tools: durable.tools({ find }), prepareStep: () => ({ model }) }),
    );
    await expect(desk.for("a").generate({ prompt: "Find 7." })).rejects.toThrow("with durable.model(…)");
  });

  it("refuses a definition without a wrapped model", () => {
    const { ToolLoopAgent } = sdk.ai;
    const model = scriptedModel([text("never asked for")], sdk);
    const storage = new InMemoryPersistenceStorageProvider();
    expect(() => durableAgent({ storage }, () => new ToolLoopAgent({ model }))).toThrow(
      expect.objectContaining({ code: "invalid_input", problems: [expect.objectContaining({ path: "model" })] }),
    );
  });

  it("records the same steps whatever its callbacks do", async () => {
    const kinds = [];
    for (const callbacks of [
      {},
      {
        onStepFinish: () => {
          throw new Error("a bug");
        },
      },
    ]) {
      const storage = new InMemoryPersistenceStorageProvider();
      const { desk } = refundDesk(sdk, [twoOrders[0]!, text("Done.")], { storage });
      const stream = await desk.for("a").stream({ prompt: "Find them.", ...callbacks });
      await stream.consumeStream();
      kinds.push((await entriesOf(storage)).map(({ records }) => records.map(({ kind }) => kind)));
    }
    expect(kinds[1]).toEqual(kinds[0]);
  });

  it("makes each step a checkpoint, in at most two appends", async () => {
    const { desk, storage } = refundDesk(sdk, [...twoOrders, [calling("find", { id: "10" })], text("Done.")]);
    await desk.for("a").generate({ prompt: "Find them." });
    expect(await desk.agent("a").getCheckpoints()).toHaveLength(5);
    const entries = await entriesOf(storage);
    const kinds = entries.map(({ records }) => records.map(({ kind }) => kind));
    const steps = kinds.slice(kinds.findIndex((each) => each.includes("answer")));
    expect(steps).toHaveLength(7);
  });
});

describe.each(sdks)("durableRun with the AI SDK $version", (sdk) => {
  it("runs code and replays its records when it is called again", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const { generateText, streamText } = sdk.ai;
    const model = scriptedModel([text("one"), { failsWith: new Error("overloaded"), afterwards: text("two") }], sdk);
    const run = (input: string) =>
      durableRun({ storage, agentId: "report", input }, async ({ model: wrap, signal }) => {
        const { text: first } = await generateText({ model: wrap(model), prompt: "1", abortSignal: signal });
        const messages = [
          { role: "user" as const, content: "1" },
          { role: "assistant" as const, content: first },
        ];
        const second = streamText({ model: wrap(model), messages, maxRetries: 0, onError: () => undefined });
        return [first, await second.text];
      });
    await expect(run("x")).rejects.toThrow("No output generated");
    expect(await run("x")).toEqual(["one", "two"]);
    expect(await run("x")).toEqual(["one", "two"]);
    expect(model.asked).toHaveLength(3);
  });

  it("ends if its code stops reading a stream, and records the whole response", { timeout: 20_000 }, async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const model = scriptedModel([Array.from({ length: 50 }, (_each, at) => ({ type: "text", text: `${at} ` }))], sdk);
    const seen: string[][] = [];
    const run = () =>
      durableRun({ storage, agentId: "a", input: "x" }, async ({ model: wrap }) => {
        const result = sdk.ai.streamText({ model: wrap(model), prompt: "Count." });
        const texts: string[] = [];
        for await (const text of result.textStream) {
          if (texts.push(text) === 2) break;
        }
        seen.push(texts);
        return texts.length;
      });
    expect(await run()).toBe(2);
    expect(await run()).toBe(2);
    expect(seen[1]).toEqual(seen[0]);
    expect(model.asked).toHaveLength(1);
  });

  it.each(["reports an error", "breaks"])(
    "repeats no request after a crash if each of several parallel streams %s once",
    async (how) => {
      const storage = new InMemoryPersistenceStorageProvider();
      const prompts = ["a", "b", "c"];
      const scripted = scriptedModel([text("Done.")], sdk);
      let failures = prompts.length;
      const model: ScriptedModel = {
        ...scripted,
        doStream: async (options) => {
          const whole = await scripted.doStream(options);
          return failures-- > 0 ? { stream: failingStream(how === "breaks") } : whole;
        },
      };
      const answers = async (wrap: Durable["model"]) =>
        Promise.all(
          prompts.map(async (prompt) => {
            for (;;) {
              const result = sdk.ai.streamText({ model: wrap(model), prompt, maxRetries: 0, onError: () => undefined });
              if (!(await fails(result.fullStream))) return result.text;
            }
          }),
        );
      const run = (end: () => void) =>
        durableRun({ storage, agentId: "a" }, async ({ model: wrap }) => {
          const given = await answers(wrap);
          end();
          return given;
        });
      const crash = () => {
        throw new Error("crash");
      };
      await expect(run(crash)).rejects.toThrow("crash");
      expect(model.asked).toHaveLength(6);
      expect(await run(() => undefined)).toEqual(["Done.", "Done.", "Done."]);
      expect(model.asked).toHaveLength(6);
    },
  );
});

/** A stream that fails after a piece of text: with an error as a part, or broken. */
function failingStream(breaks: boolean): ReadableStream<LanguageModelV3StreamPart> {
  const error = new Error("overloaded");
  const parts: LanguageModelV3StreamPart[] = [
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "Do" },
    { type: "error", error },
  ];
  return new ReadableStream({
    pull(controller) {
      const part = parts.shift();
      if (!part) controller.close();
      else if (part.type === "error" && breaks) controller.error(error);
      else controller.enqueue(part);
    },
  });
}

async function fails(stream: AsyncIterable<{ readonly type: string }>): Promise<boolean> {
  try {
    for await (const { type } of stream) if (type === "error") return true;
    return false;
  } catch {
    return true;
  }
}

async function entriesOf({ log }: InMemoryPersistenceStorageProvider) {
  const entries = [];
  for await (const entry of log.read("a")) entries.push(entry);
  return entries;
}

/** What a step shows that the provider has not sent besides. */
function shown({
  content,
  finishReason,
  usage,
  providerMetadata,
  response: { id, modelId },
}: {
  readonly content: unknown;
  readonly finishReason: unknown;
  readonly usage: unknown;
  readonly providerMetadata: unknown;
  readonly response: { readonly id: string; readonly modelId: string };
}) {
  return { content, finishReason, usage, providerMetadata, id, modelId };
}
