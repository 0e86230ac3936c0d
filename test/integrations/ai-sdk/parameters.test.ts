import { describe, expect, it } from "vitest";
import { aiSdkExecutor, InvalidModelParametersError } from "agent-persistence/ai-sdk";
import { ask, executorOf } from "./ask.ts";
import { ChatServer, text } from "./ChatServer.ts";
import { fakeModel } from "./fakeModel.ts";

const said = [{ type: "text", text: "ok" }];

describe("model parameters", () => {
  it("reach the provider", async () => {
    await using server = await ChatServer.start();
    server.next(text("ok"));
    await ask(executorOf(server), {
      parameters: {
        temperature: 0.2,
        maxOutputTokens: 100,
        topP: 0.9,
        seed: 7,
        stopSequences: ["END"],
        presencePenalty: 0.1,
        frequencyPenalty: -0.1,
        responseFormat: { type: "json" },
        providerOptions: { loopback: { user: "alex", extra: [1] } },
      },
    });
    expect(server.requests[0]).toMatchObject({
      temperature: 0.2,
      max_tokens: 100,
      top_p: 0.9,
      seed: 7,
      stop: ["END"],
      presence_penalty: 0.1,
      frequency_penalty: -0.1,
      response_format: { type: "json_object" },
      user: "alex",
      extra: [1],
    });
  });

  it("that are missing or undefined are not sent", async () => {
    const model = fakeModel("v3", { content: said });
    await ask(aiSdkExecutor(model), { parameters: { temperature: undefined, topK: 5, toolChoice: { type: "none" } } });
    expect(Object.keys(model.calls[0] ?? {}).sort()).toEqual(["abortSignal", "prompt", "toolChoice", "topK"]);
  });

  it.each([
    {
      providerOptions: { openai: { effort: undefined, deep: { none: undefined, list: [1, null, { a: undefined }] } } },
    },
    { toolChoice: { type: "auto", toolName: undefined } },
    { responseFormat: { type: "json", schema: true } },
  ])("like %j are passed on", async (parameters) => {
    const model = fakeModel("v3", { content: said });
    await ask(aiSdkExecutor(model), { parameters });
    expect(model.calls).toMatchObject([parameters]);
  });

  it.each([
    [{ maxTokens: 100 }, /maxTokens/],
    [{ headers: { authorization: "Bearer x" } }, /headers/],
    [{ temperature: "0.2" }, /temperature: .*number/],
    [{ stopSequences: "END" }, /stopSequences/],
    [{ providerOptions: { openai: "low" } }, /providerOptions\.openai/],
    [{ toolChoice: { type: "tool" } }, /toolChoice/],
  ])("like %j are refused before a request is sent", async (parameters, named) => {
    const model = fakeModel("v3", { content: said });
    const failure = await ask(aiSdkExecutor(model), { parameters }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(InvalidModelParametersError);
    expect(failure).toMatchObject({ code: "invalid_model_parameters", message: expect.stringMatching(named) });
    expect((failure as Error).message).toMatch(/maxOutputTokens, temperature/);
    expect((failure as Error).message).not.toContain("Bearer");
    expect(model.calls).toEqual([]);
  });
});

describe("warnings", () => {
  it("are emitted one by one, with the name of the model", async () => {
    const told: unknown[] = [];
    const warnings = [{ type: "unsupported", feature: "topK" }];
    const executor = aiSdkExecutor(fakeModel("v3", { content: said, warnings }), {
      onWarning: (warning, model) => told.push([warning, model]),
    });
    await ask(executor);
    expect(told).toEqual([[warnings[0], "served"]]);
  });
});
