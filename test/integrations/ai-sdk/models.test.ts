import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { wrapLanguageModel, type LanguageModel } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { describe, expect, expectTypeOf, it } from "vitest";
import { aiSdkExecutor, ModelNotAvailableError, type AiSdkLanguageModel } from "agent-persistence/ai-sdk";
import type { PromptExecutor } from "../../../src/agent/model/PromptExecutor.ts";
import type { functionToolOf } from "../../../src/integrations/ai-sdk/aiSdkExecutor.ts";
import { ask, partsOf } from "./ask.ts";
import { ChatServer, text } from "./ChatServer.ts";
import { fakeModel } from "./fakeModel.ts";

const said = [{ type: "text", text: "ok" }];

describe("models", () => {
  it("of every specification version are accepted, including wrapped ones", async () => {
    const v2 = fakeModel("v2", { content: [{ type: "text", text: "two" }], usage: { totalTokens: 3 } });
    const v3 = new MockLanguageModelV3({
      modelId: "served",
      doGenerate: async () => ({
        content: [{ type: "text", text: "three" }],
        finishReason: { unified: "stop", raw: "end_turn" },
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 2, text: 2, reasoning: 0 },
        },
        warnings: [],
      }),
    });
    const wrapped = wrapLanguageModel({ model: v3, middleware: { specificationVersion: "v3" } });
    const v4 = fakeModel("v4", { content: [{ type: "text", text: "four" }] });
    const textsOf = [v2, v3, wrapped, v4].map(async (model) => partsOf((await ask(aiSdkExecutor(model))).message));
    expect(await Promise.all(textsOf)).toEqual(
      ["two", "three", "three", "four"].map((answer) => [{ type: "text", text: answer }]),
    );
    await expect(ask(aiSdkExecutor(v2))).resolves.toMatchObject({ finishReason: "stop", usage: { totalTokens: 3 } });
    await expect(ask(aiSdkExecutor(v3))).resolves.toMatchObject({ rawFinishReason: "end_turn" });
  });

  it("are selected by name, one request at a time", async () => {
    await using server = await ChatServer.start();
    server.next(text("a")).next(text("b"));
    const executor = aiSdkExecutor(createOpenAICompatible({ name: "loopback", baseURL: server.url }));
    await ask(executor, { model: "small" });
    await ask(executor, { model: "large" });
    expect(server.requests.map(({ model }) => model)).toEqual(["small", "large"]);
  });

  it("can be loaded at their first request", async () => {
    const executor = aiSdkExecutor(async (name) => ({ ...fakeModel("v3", { content: said }), modelId: name }));
    await expect(ask(executor)).resolves.toMatchObject({ finishReason: "stop" });
  });

  it.each([
    [
      "another name than the only model's",
      fakeModel("v3", { content: said }),
      /has only the model "served".*\(name\) => model/,
    ],
    ["a name that the function does not know", () => undefined as unknown as AiSdkLanguageModel, /returned no model/],
    [
      "a name that the function refuses",
      () => {
        throw new RangeError("no such model");
      },
      /no such model/,
    ],
    [
      "a model of an older specification",
      () => ({ specificationVersion: "v1" }) as unknown as AiSdkLanguageModel,
      /"v1"/,
    ],
    ["an invalid model", () => ({ provider: "x" }) as unknown as AiSdkLanguageModel, /specification version is none/],
  ])("%s is refused", async (_, models, reason) => {
    const failure = await ask(aiSdkExecutor(models), { model: "other" }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ModelNotAvailableError);
    expect(failure).toMatchObject({
      code: "model_not_available",
      model: "other",
      message: expect.stringMatching(reason),
    });
  });

  it("have compatible types", () => {
    expectTypeOf<Exclude<LanguageModel, string>>().toExtend<AiSdkLanguageModel>();
    type V3 = Extract<LanguageModel, { specificationVersion: "v3" }>;
    type CallOptions = Parameters<V3["doGenerate"]>[0];
    type FunctionTool = Extract<(CallOptions["tools"] & object)[number], { type: "function" }>;
    // zod's type of a JSON schema is wider than that of draft 7, which it is asked for.
    type GivenTool = Omit<ReturnType<typeof functionToolOf>, "inputSchema">;
    expectTypeOf<GivenTool>().toExtend<Omit<FunctionTool, "inputSchema">>();
    expectTypeOf(aiSdkExecutor).returns.toExtend<PromptExecutor>();
    expectTypeOf<string>().not.toExtend<Parameters<typeof aiSdkExecutor>[0]>();
  });
});
