import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import type { RunDelta } from "agent-persistence";
import { AIAgent } from "agent-persistence";
import { aiSdkExecutor, type AiSdkLanguageModel, type AiSdkStream } from "agent-persistence/ai-sdk";
import type { ModelDelta } from "../../../src/agent/model/PromptExecutor.ts";
import { StreamedGeneration } from "../../../src/integrations/ai-sdk/StreamedGeneration.ts";
import { executorOf } from "./ask.ts";
import { ChatServer } from "./ChatServer.ts";
import { fakeModel } from "./fakeModel.ts";

const request = {
  messages: [{ role: "user", content: "Hello" }],
  tools: [],
  model: "served",
  abortSignal: new AbortController().signal,
} as const;

/** Begins a stream of the OpenAI chat protocol with these pieces of text. */
function begin(response: ServerResponse, ...texts: readonly string[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const content of texts) send(response, { delta: { role: "assistant", content } });
}

function send(response: ServerResponse, choice: object, rest: object = {}): void {
  const chunk = {
    id: "1",
    object: "chat.completion.chunk",
    created: 1,
    model: "served",
    choices: [{ index: 0, ...choice }],
  };
  response.write(`data: ${JSON.stringify({ ...chunk, ...rest })}\n\n`);
}

function end(response: ServerResponse, finishReason: string): void {
  const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
  send(response, { delta: {}, finish_reason: finishReason }, { usage });
  response.end("data: [DONE]\n\n");
}

function modelStreaming(version: AiSdkLanguageModel["specificationVersion"], parts: readonly object[]) {
  const stream = async (): Promise<AiSdkStream> => ({
    stream: new ReadableStream({
      start(controller) {
        for (const part of parts) controller.enqueue(part as { readonly type: string });
        controller.close();
      },
    }),
  });
  return { ...fakeModel(version, {}), doStream: stream };
}

async function streamed(model: AiSdkLanguageModel) {
  const deltas: ModelDelta[] = [];
  const answer = await aiSdkExecutor(model).stream(request, (delta) => void deltas.push(delta));
  return { deltas, answer };
}

const finish = {
  type: "finish",
  finishReason: { unified: "stop", raw: "end" },
  usage: { inputTokens: { total: 3 }, outputTokens: { total: 2 } },
};

describe("a streamed response", () => {
  it("arrives in chunks over HTTP and ends with usage, finish reason and tool calls", async () => {
    await using server = await ChatServer.start();
    server.next((response) => {
      begin(response, "Hel", "lo");
      const call = { index: 0, id: "call_0", type: "function", function: { name: "book", arguments: '{"room":' } };
      send(response, { delta: { tool_calls: [call] } });
      send(response, { delta: { tool_calls: [{ index: 0, function: { arguments: "7}" } }] } });
      end(response, "tool_calls");
    });
    const deltas: ModelDelta[] = [];
    const answer = await executorOf(server).stream(request, (delta) => void deltas.push(delta));
    expect(deltas).toEqual([
      { type: "text-delta", text: "Hel" },
      { type: "text-delta", text: "lo" },
    ]);
    expect(answer).toMatchObject({
      message: {
        role: "assistant",
        content: [
          { type: "text", text: "Hello" },
          { type: "tool-call", toolCallId: "call_0", toolName: "book", input: { room: 7 } },
        ],
      },
      finishReason: "tool-calls",
      usage: { inputTokens: 11, outputTokens: 7, totalTokens: 18 },
    });
    expect(server.requests).toMatchObject([{ stream: true }]);
  });

  it("with a broken connection is requested again, and the first chunks are discarded", async () => {
    await using server = await ChatServer.start();
    server
      .next((response) => {
        begin(response, "Hel");
        response.write(": wait\n\n", () => response.destroy());
      })
      .next((response) => {
        begin(response, "Hi");
        end(response, "stop");
      });
    const deltas: RunDelta[] = [];
    const agent = new AIAgent({ promptExecutor: executorOf(server), llmModel: "served", modelRetry: { delayMs: 0 } });
    const result = await agent.run("x", { onDelta: (delta) => void deltas.push(delta) });
    expect(result).toMatchObject({ output: "Hi", usage: { inputTokens: 11, outputTokens: 7 } });
    const shown = deltas.map((delta) => ("text" in delta ? delta.text : delta.type)).join(" ");
    expect(shown).toMatch(/^(Hel restart )?Hi$/);
    expect(server.requests).toHaveLength(2);
  });

  it.each(["v2", "v3", "v4"] as const)(
    "of a model of specification %s keeps signatures, files and the order of parts",
    async (version) => {
      const { deltas, answer } = await streamed(
        modelStreaming(version, [
          { type: "stream-start", warnings: [] },
          { type: "response-metadata", id: "r" },
          { type: "reasoning-start", id: "0" },
          { type: "reasoning-delta", id: "0", delta: "think" },
          { type: "reasoning-end", id: "0", providerMetadata: { p: { signature: "s" } } },
          { type: "text-start", id: "0" },
          { type: "text-delta", id: "0", delta: "one" },
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: "two" },
          { type: "text-delta", id: "0", delta: "!" },
          { type: "text-end", id: "0" },
          { type: "text-end", id: "1" },
          { type: "file", mediaType: "text/plain", data: "aGk=" },
          { type: "tool-input-start", id: "c", toolName: "book" },
          { type: "tool-input-end", id: "c" },
          { type: "tool-call", toolCallId: "c", toolName: "book", input: "{}" },
          finish,
        ]),
      );
      expect(answer.message.content).toEqual([
        { type: "reasoning", text: "think", providerOptions: { p: { signature: "s" } } },
        { type: "text", text: "one!" },
        { type: "text", text: "two" },
        { type: "file", data: "aGk=", mediaType: "text/plain" },
        { type: "tool-call", toolCallId: "c", toolName: "book", input: {} },
      ]);
      expect(answer).toMatchObject({
        finishReason: "stop",
        usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
      });
      expect(deltas.map(({ text }) => text)).toEqual(["think", "one", "two", "!"]);
    },
  );

  it("without a finish part is incomplete and may be requested again", async () => {
    const model = modelStreaming("v3", [
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta: "half" },
    ]);
    await expect(streamed(model)).rejects.toMatchObject({ code: "model_answer_incomplete", retryable: true });
  });

  it("with an error part fails with that error", async () => {
    const model = modelStreaming("v3", [
      { type: "error", error: Object.assign(new Error("busy"), { isRetryable: true }) },
    ]);
    await expect(streamed(model)).rejects.toMatchObject({
      code: "model_request_failed",
      retryable: true,
      message: expect.stringContaining("busy") as string,
    });
  });

  it("of a model that cannot stream arrives whole", async () => {
    const { deltas, answer } = await streamed(fakeModel("v3", { content: [{ type: "text", text: "whole" }] }));
    expect(answer.message.content).toEqual([{ type: "text", text: "whole" }]);
    expect(deltas).toEqual([]);
  });
});

it("a part that begins with the id of an earlier part is a part of its own", () => {
  const generation = new StreamedGeneration("m");
  const pieces = (type: string, id: string, delta: string) => [
    { type: `${type}-start`, id },
    { type: `${type}-delta`, id, delta },
    { type: `${type}-end`, id },
  ];
  for (const part of [
    ...pieces("text", "txt-0", "A"),
    ...pieces("reasoning", "reasoning-0", "R"),
    ...pieces("text", "txt-0", "B"),
  ])
    generation.add(part);
  expect(generation.generation.content).toMatchObject([
    { type: "text", text: "A" },
    { type: "reasoning", text: "R" },
    { type: "text", text: "B" },
  ]);
});
