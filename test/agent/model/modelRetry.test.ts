import { describe, expect, it } from "vitest";
import { AIAgent, type AIAgentConfig } from "../../../src/agent/AIAgent.ts";
import type { ModelRetry } from "../../../src/agent/model/ModelRetry.ts";
import type { PromptExecutor } from "../../../src/agent/model/PromptExecutor.ts";
import { ModelRequestError } from "../../../src/errors/modelErrors.ts";
import { impatientClock } from "../impatientClock.ts";
import { testFeature } from "../testFeature.ts";

const failed = (facts: Partial<ConstructorParameters<typeof ModelRequestError>[0]> = {}) =>
  new ModelRequestError({ model: "m", provider: "p", retryable: true, cause: new Error("busy"), ...facts });

/** An agent whose model throws these, one a request, and then answers. */
function agentWith(thrown: readonly unknown[], config: Partial<AIAgentConfig<string, string>> = {}) {
  const clock = impatientClock();
  const retries: unknown[] = [];
  let asked = 0;
  const promptExecutor: PromptExecutor = {
    execute: async () => {
      if (asked < thrown.length) throw thrown[asked++];
      asked++;
      return { message: { role: "assistant", content: "here" } };
    },
  };
  const agent = new AIAgent({ promptExecutor, llmModel: "m", modelTimeoutMs: Number.POSITIVE_INFINITY, ...config });
  agent.install(
    testFeature((pipeline) => {
      pipeline.limitAborts({ ms: 0, clock });
      pipeline.onModelRequestRetrying(({ attempt, delayMs, error }) => void retries.push({ attempt, delayMs, error }));
    }),
  );
  return { agent, waits: clock.waits, retries, asked: () => asked };
}

describe("retries of model requests", () => {
  it("a request with a temporary error is retried up to twice, with growing delays by the injected clock", async () => {
    const errors = [failed(), failed({ statusCode: 500 })];
    const { agent, waits, retries, asked } = agentWith(errors);
    expect(await agent.run("x")).toMatchObject({ output: "here" });
    expect(asked()).toBe(3);
    const [first = 0, second = 0] = waits;
    expect(waits).toHaveLength(2);
    expect([first >= 500, first <= 1_000, second >= 1_000, second <= 2_000]).toEqual([true, true, true, true]);
    expect(retries).toEqual([
      { attempt: 1, delayMs: first, error: errors[0] },
      { attempt: 2, delayMs: second, error: errors[1] },
    ]);
  });

  it("the run rejects with the error of the last attempt", async () => {
    const errors = [failed(), failed(), failed({ statusCode: 503 })];
    const { agent, asked } = agentWith(errors);
    expect(await agent.run("x").catch((error: unknown) => error)).toBe(errors[2]);
    expect(asked()).toBe(3);
  });

  it.each([
    { what: "an error that is not retryable", thrown: failed({ retryable: false }) },
    { what: "an error of another kind", thrown: new RangeError("no") },
    { what: "a programming error", thrown: new TypeError("undefined is not a function") },
    { what: "something that is not an error", thrown: "no" },
    { what: "nothing", thrown: undefined },
  ])("$what is thrown at once and unchanged", async ({ thrown }) => {
    const { agent, waits, asked } = agentWith([thrown]);
    const caught = await agent.run("x").then(
      () => "completed",
      (error: unknown) => ({ error }),
    );
    expect(caught).toEqual({ error: thrown });
    expect(asked()).toBe(1);
    expect(waits).toEqual([]);
  });

  it("a custom executor is retried for errors with retryable: true and network errors of fetch", async () => {
    const { agent, asked } = agentWith([
      Object.assign(new Error("529"), { retryable: true }),
      new TypeError("fetch failed"),
    ]);
    expect(await agent.run("x")).toMatchObject({ output: "here" });
    expect(asked()).toBe(3);
  });

  it("a delay from the provider is waited in full, and a delay above the limit is not started", async () => {
    const waited = agentWith([failed({ retryAfterMs: 7_000 })]);
    expect(await waited.agent.run("x")).toMatchObject({ output: "here" });
    expect(waited.waits).toEqual([7_000]);
    const error = failed({ retryAfterMs: 60_001 });
    const refused = agentWith([error]);
    await expect(refused.agent.run("x")).rejects.toBe(error);
    expect(refused.waits).toEqual([]);
  });

  it.each([
    { modelRetry: false as const, tries: 1 },
    { modelRetry: { retries: 0 }, tries: 1 },
    { modelRetry: { retries: 4, delayMs: 0 }, tries: 5 },
  ])("modelRetry $modelRetry makes $tries attempts", async ({ modelRetry, tries }) => {
    const { agent, asked } = agentWith(
      Array.from({ length: 9 }, () => failed()),
      { modelRetry },
    );
    await expect(agent.run("x")).rejects.toMatchObject({ code: "model_request_failed" });
    expect(asked()).toBe(tries);
  });

  it("the delay never exceeds maxDelayMs", async () => {
    const errors = Array.from({ length: 20 }, () => failed());
    const { agent, waits } = agentWith(errors, { modelRetry: { retries: 20, maxDelayMs: 3_000 } });
    expect(await agent.run("x")).toMatchObject({ output: "here" });
    expect(Math.max(...waits)).toBeLessThanOrEqual(3_000);
    expect(Math.min(...waits.slice(5))).toBeGreaterThanOrEqual(1_500);
  });

  it("an abort ends the delay, and the run rejects with its reason", async () => {
    const controller = new AbortController();
    const { agent, asked } = agentWith([failed(), failed()]);
    agent.install(
      testFeature(
        (pipeline) => pipeline.onModelRequestRetrying(() => controller.abort(new Error("enough"))),
        "aborting",
      ),
    );
    await expect(agent.run("x", { signal: controller.signal })).rejects.toThrow("enough");
    expect(asked()).toBe(1);
  });

  it.each([{ retries: -1 }, { delayMs: "1" }, true, null])(
    "the error about modelRetry %j lists its options",
    (modelRetry) => {
      expect(() => agentWith([], { modelRetry: modelRetry as never })).toThrow(
        'at "modelRetry": expected false, or { retries, delayMs, maxDelayMs } with numbers from 0',
      );
    },
  );

  it("the error about an unknown option of modelRetry names the option", () => {
    expect(() => agentWith([], { modelRetry: { retris: 2 } as never })).toThrow('did you mean "retries"?');
  });

  it.each([{ retries: -1 }, { retries: 1.5 }, { attempts: 2 }, true])("modelRetry %j is refused", (modelRetry) => {
    expect(() => agentWith([], { modelRetry: modelRetry as ModelRetry })).toThrow(
      expect.objectContaining({ code: "invalid_input" }),
    );
  });
});
