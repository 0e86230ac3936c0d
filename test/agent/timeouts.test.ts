import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AIAgent, type AIAgentConfig } from "../../src/agent/AIAgent.ts";
import type { AgentContext } from "../../src/agent/context/AgentContext.ts";
import type { PromptExecutor } from "../../src/agent/model/PromptExecutor.ts";
import { strategy } from "../../src/agent/strategy/Strategy.ts";
import { tool, type ToolCallOptions, type ToolEffect } from "../../src/agent/tool/Tool.ts";
import { scriptedModel } from "../../src/testing/doubles/scriptedModel.ts";
import { impatientClock } from "./impatientClock.ts";
import { testFeature } from "./testFeature.ts";

const never = () => new Promise<never>(() => undefined);

const graceMs = 50;

/** @param passes which waits end; default: all. */
function agentWith(
  config: Partial<AIAgentConfig<string, string>>,
  body?: (context: AgentContext) => Promise<unknown>,
  passes?: (ms: number) => boolean,
) {
  const clock = impatientClock(passes);
  const graph = strategy<string, string>("s", (g) => {
    const node = g.node("node", async (_input: string, context) => String(await body?.(context)));
    g.edge(g.start, node);
    g.edge(node, g.finish);
  });
  const agent = new AIAgent({
    promptExecutor: scriptedModel([]),
    llmModel: "m",
    ...(body && { strategy: graph }),
    ...config,
  });
  agent.install(testFeature((pipeline) => pipeline.limitAborts({ ms: graceMs, clock })));
  return { agent, waits: clock.waits };
}

describe("the timeout of model requests", () => {
  it("aborts and retries a model that hangs, and then fails with a typed error", async () => {
    const signals: AbortSignal[] = [];
    const promptExecutor: PromptExecutor = {
      execute: ({ abortSignal }) => (signals.push(abortSignal), never()),
    };
    const { agent, waits } = agentWith({
      promptExecutor,
      modelTimeoutMs: 5_000,
      modelRetry: { retries: 1, delayMs: 0 },
    });
    await expect(agent.run("x")).rejects.toMatchObject({
      code: "model_timed_out",
      model: "m",
      timeoutMs: 5_000,
      retryable: true,
    });
    expect(waits).toEqual([5_000, 5_000]);
    expect(signals.map(({ reason }) => (reason as { readonly code: string }).code)).toEqual([
      "model_timed_out",
      "model_timed_out",
    ]);
  });

  it("defaults to ten minutes, and Infinity sets no timer", async () => {
    const answering: PromptExecutor = { execute: async () => ({ message: { role: "assistant", content: "hi" } }) };
    const limited = agentWith({ promptExecutor: answering }, undefined, () => false);
    expect(await limited.agent.run("x")).toMatchObject({ output: "hi" });
    expect(limited.waits).toEqual([600_000]);
    const unlimited = agentWith({ promptExecutor: answering, modelTimeoutMs: Number.POSITIVE_INFINITY });
    expect(await unlimited.agent.run("x")).toMatchObject({ output: "hi" });
    expect(unlimited.waits).toEqual([]);
  });
});

/** A tool whose call ends as `execute` says. */
function toolWith(execute: (options: ToolCallOptions) => Promise<unknown>, effect?: ToolEffect, timeoutMs?: number) {
  return tool({
    name: "slow",
    description: "",
    inputSchema: z.string(),
    ...(effect && { effect }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    execute: (_input, options) => execute(options),
  });
}

const untilAborted = ({ abortSignal }: ToolCallOptions) =>
  new Promise<never>((_resolve, reject) => {
    abortSignal.addEventListener("abort", () => reject(new Error("stopped by the signal")));
  });

describe("the timeout of tools", () => {
  it.each([
    { how: "ignores its signal", execute: never },
    { how: "stops at its signal", execute: untilAborted },
  ])("for a tool that $how fails a call that is safe to repeat, and makes others unknown", async ({ execute }) => {
    for (const effect of ["none", "idempotent", "reversible", "irreversible", undefined] as const) {
      const slow = toolWith(execute, effect, 1_000);
      const { agent } = agentWith({ tools: [slow] }, ({ tools }) => tools.call(slow, "x"));
      const safe = effect === "none" || effect === "idempotent";
      await expect(agent.run("x")).rejects.toMatchObject({
        code: safe ? "tool_failed" : "tool_outcome_unknown",
        toolName: "slow",
        reason: expect.stringContaining("did not end within 1000 ms") as string,
      });
    }
  });

  it("accepts an output within the grace period", async () => {
    const slow = toolWith(
      ({ abortSignal }) => new Promise((resolve) => abortSignal.addEventListener("abort", () => resolve("late"))),
      "irreversible",
      1_000,
    );
    const { agent } = agentWith(
      { tools: [slow] },
      ({ tools }) => tools.call(slow, "x"),
      (ms) => ms !== graceMs,
    );
    expect(await agent.run("x")).toMatchObject({ output: "late" });
  });

  it("is reported to the model, and the run continues", async () => {
    const slow = toolWith(never, "none");
    const told: unknown[] = [];
    const promptExecutor = scriptedModel([
      { toolCalls: [{ toolName: "slow", input: "x" }] },
      (messages) => (told.push(messages.at(-1)), "sorry"),
    ]);
    const { agent, waits } = agentWith({
      tools: [slow],
      promptExecutor,
      toolTimeoutMs: 2_000,
      modelTimeoutMs: Number.POSITIVE_INFINITY,
    });
    expect(await agent.run("x")).toMatchObject({ output: "sorry" });
    expect(told).toMatchObject([{ content: [{ isError: true, output: "it did not end within 2000 ms" }] }]);
    expect(waits).toContain(2_000);
  });

  it("of a tool overrides the agent's, and no timer starts if both are omitted", async () => {
    const own = toolWith(async () => "ok", undefined, 3_000);
    const limited = agentWith(
      { tools: [own], toolTimeoutMs: 2_000 },
      ({ tools }) => tools.call(own, "x"),
      () => false,
    );
    expect(await limited.agent.run("x")).toMatchObject({ output: "ok" });
    expect(limited.waits).toEqual([3_000]);
    const free = toolWith(async () => "ok");
    const unlimited = agentWith({ tools: [free] }, ({ tools }) => tools.call(free, "x"));
    expect(await unlimited.agent.run("x")).toMatchObject({ output: "ok" });
    expect(unlimited.waits).toEqual([]);
  });

  it("ends the calls that the tool has started, and lets it start no more", async () => {
    const inner = tool({ name: "inner", description: "", inputSchema: z.string(), execute: never });
    let told: (reasons: readonly unknown[]) => void = () => undefined;
    const started = new Promise<readonly unknown[]>((resolve) => (told = resolve));
    const outer = toolWith(
      async ({ context }) => {
        const call = () => context.tools.call(inner, "x").catch((error: Error) => error.message);
        told([await call(), await call()]);
        return never();
      },
      "none",
      1_000,
    );
    const { agent } = agentWith({ tools: [outer, inner] }, ({ tools }) => tools.call(outer, "x"));
    await expect(agent.run("x")).rejects.toMatchObject({ code: "tool_failed", toolName: "slow" });
    const late = expect.stringContaining("did not end within 1000 ms") as string;
    expect(await started).toEqual([late, late]);
  });
});
