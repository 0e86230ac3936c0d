import { describe, expect, it } from "vitest";
import { aiSdkExecutor, UnusableModelAnswerError } from "agent-persistence/ai-sdk";
import { ask, executorOf, partsOf } from "./ask.ts";
import { ChatServer, completion, text } from "./ChatServer.ts";
import { fakeModel, type FakeAnswer } from "./fakeModel.ts";

describe("a malformed response", () => {
  it.each([
    ["nothing", undefined],
    ["no content", { finishReason: "stop" }],
    ["a part that is null", { content: [null], finishReason: "stop" }],
    ["a text without text", { content: [{ type: "text" }], finishReason: "stop" }],
    ["a call whose input is not text", { content: [{ type: "tool-call", toolCallId: "1", toolName: "t", input: {} }] }],
    ["no finish reason", { content: [{ type: "text", text: "x" }] }],
  ])("is refused: %s", async (_, answer) => {
    const model = { ...fakeModel("v3", {}), doGenerate: async () => answer as never };
    const failure = await ask(aiSdkExecutor(model)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UnusableModelAnswerError);
    expect(failure).toMatchObject({
      code: "model_answer_malformed",
      model: "served",
      provider: "fake",
      retryable: false,
    });
  });
});

describe("a response over HTTP", () => {
  it("becomes a message with usage and finish reason", async () => {
    await using server = await ChatServer.start();
    server.next(text("Hello, Alex."));
    const answer = await ask(executorOf(server), { messages: [{ role: "user", content: "Say hello" }] });
    expect(answer.message).toEqual({ role: "assistant", content: [{ type: "text", text: "Hello, Alex." }] });
    expect(answer).toMatchObject({ finishReason: "stop", rawFinishReason: "stop" });
    expect(answer.usage).toMatchObject({ inputTokens: 11, outputTokens: 7, totalTokens: 18 });
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]).toMatchObject({ model: "served", messages: [{ role: "user", content: "Say hello" }] });
    expect(server.requests[0]).not.toHaveProperty("tools");
  });

  it("keeps every character", async () => {
    const hostile = 'Zoë 张伟 Ωμέγα 🧑🏽‍🚀 \u0000 \u2028 "quoted"\n\\u0041';
    await using server = await ChatServer.start();
    server.next(text(hostile));
    const answer = await ask(executorOf(server), { messages: [{ role: "user", content: hostile }] });
    expect(partsOf(answer.message)).toEqual([{ type: "text", text: hostile }]);
    expect(server.requests[0]?.messages[0]?.content).toBe(hostile);
  });

  it("keeps its reasoning, which the next request returns", async () => {
    await using server = await ChatServer.start();
    server.next(completion({ content: "4", reasoning_content: "2 + 2" })).next(text("5"));
    const executor = executorOf(server);
    const { message } = await ask(executor);
    expect(partsOf(message)).toEqual([
      { type: "reasoning", text: "2 + 2" },
      { type: "text", text: "4" },
    ]);
    await ask(executor, { messages: [message, { role: "user", content: "and one?" }] });
    expect(server.requests[1]?.messages[0]).toMatchObject({ content: "4", reasoning_content: "2 + 2" });
  });

  it("reports that it was cut off", async () => {
    await using server = await ChatServer.start();
    server.next(completion({ content: "Once upon a" }, "length"));
    await expect(ask(executorOf(server))).resolves.toMatchObject({ finishReason: "length" });
  });

  it.each([
    ["nothing", { content: null }],
    ["an empty text", { content: "" }],
    ["blanks", { content: " \n" }],
    ["an empty list of calls", { content: "", tool_calls: [] }],
    ["reasoning alone", { content: "", reasoning_content: "hm" }],
  ])("with %s is refused", async (_, message) => {
    await using server = await ChatServer.start();
    server.next(completion(message));
    const failure = await ask(executorOf(server)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UnusableModelAnswerError);
    expect(failure).toMatchObject({ code: "model_answer_empty", model: "served", detail: "stop" });
  });

  it("that used all tokens without content names the limit to raise", async () => {
    await using server = await ChatServer.start();
    server.next(completion({ content: "" }, "length"));
    await expect(ask(executorOf(server))).rejects.toThrow(/maxOutputTokens/);
  });

  it("stopped by the content filter is refused with any partial content", async () => {
    await using server = await ChatServer.start();
    server.next(completion({ content: "First, take" }, "content_filter"));
    const failure = await ask(executorOf(server)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UnusableModelAnswerError);
    expect(failure).toMatchObject({ code: "model_answer_filtered", model: "served", provider: "loopback.chat" });
  });
});

describe("a response of any model", () => {
  const answerWith = (content: FakeAnswer["content"] & object, finishReason = "stop") =>
    ask(aiSdkExecutor(fakeModel("v4", { content, finishReason: { unified: finishReason, raw: "odd" } })));

  it.each(["error", "interrupted"])("that ended with %s is refused", async (finishReason) => {
    const failure = await answerWith([{ type: "text", text: "Once" }], finishReason).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UnusableModelAnswerError);
    expect(failure).toMatchObject({ code: "model_answer_incomplete", detail: "odd" });
  });

  it.each([
    [{ type: "tool-call", toolCallId: "1", toolName: "web_search", input: "{}", providerExecuted: true }, /web_search/],
    [{ type: "tool-result", toolCallId: "1", toolName: "web_search", result: {} }, /tool-result/],
  ])("with parts that a message cannot store is refused", async (part, named) => {
    const failure = await answerWith([part, { type: "text", text: "so" }]).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UnusableModelAnswerError);
    expect(failure).toMatchObject({ code: "unsupported_model_answer", message: expect.stringMatching(named) });
  });

  it("omits its sources and keeps its files", async () => {
    const { message } = await answerWith([
      { type: "source", sourceType: "url", id: "1", url: "https://example.org" },
      { type: "file", mediaType: "image/png", data: { type: "data", data: "iVBO" } },
      { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://example.org/a.png") } },
    ]);
    expect(partsOf(message)).toEqual([
      { type: "file", mediaType: "image/png", data: "iVBO" },
      { type: "file", mediaType: "image/png", data: "https://example.org/a.png" },
    ]);
  });

  it("keeps its reasoning files and returns them to a provider of the AI SDK 7", async () => {
    const providerMetadata = { google: { thoughtSignature: "c2ln" } };
    const file = { type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: "iVBO" } };
    const model = fakeModel("v4", {
      content: [
        { ...file, providerMetadata },
        { type: "text", text: "4" },
      ],
    });
    const executor = aiSdkExecutor(model);
    const { message } = await ask(executor);
    const stored = { type: "file", mediaType: "image/png", data: "iVBO", reasoning: true };
    expect(partsOf(message)[0]).toEqual({ ...stored, providerOptions: providerMetadata });
    await ask(executor, { messages: [message] });
    const said = { type: "text", text: "4" };
    expect(model.prompts[1]).toEqual([
      { role: "assistant", content: [{ ...file, providerOptions: providerMetadata }, said] },
    ]);
    const older = fakeModel("v3", { content: [said] });
    await ask(aiSdkExecutor(older), { messages: [message] });
    expect(older.prompts[0]).toEqual([{ role: "assistant", content: [said] }]);
    const silent = ask(aiSdkExecutor(fakeModel("v4", { content: [file] })));
    await expect(silent).rejects.toMatchObject({ code: "model_answer_empty" });
  });

  it("keeps provider metadata of each part and returns it to the provider", async () => {
    const providerMetadata = { anthropic: { signature: "c2ln" } };
    const model = fakeModel("v3", {
      content: [
        { type: "reasoning", text: "hm", providerMetadata },
        { type: "text", text: "4" },
      ],
    });
    const executor = aiSdkExecutor(model);
    const { message } = await ask(executor);
    await ask(executor, { messages: [message] });
    expect(model.prompts[1]).toEqual([
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "hm", providerOptions: providerMetadata },
          { type: "text", text: "4" },
        ],
      },
    ]);
  });
});
