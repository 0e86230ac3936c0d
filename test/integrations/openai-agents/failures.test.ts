import { Agent, type RunConfig, run, Runner, type Tool, tool, ToolTimeoutError, Usage } from "@openai/agents-core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  InMemoryPersistenceStorageProvider,
  InvalidInputError,
  ToolCallInDoubtError,
  UnfinishedRunError,
} from "../../../src/index.ts";
import { RunNotOpenError } from "../../../src/errors.ts";
import { DurableRunner, type DurableRunnerOptions, type HostedToolSettings } from "../../../src/openai-agents.ts";
import { calls, FakeModel, resultsIn, says } from "./fakeModel.ts";

type Settings = Partial<DurableRunnerOptions>;

/** One order is refunded; `execute` says what happens. */
function desk(execute: () => unknown, settings: Settings = {}) {
  const refund = tool({
    name: "refund",
    description: "Refunds.",
    parameters: z.object({ id: z.string() }),
    execute: async () => execute(),
  });
  const model = new FakeModel((items) => {
    const results = resultsIn(items);
    return results.length === 0 ? [calls("refund", { id: "7" })] : [says(results.join())];
  });
  const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider(), ...settings });
  return { runner, model, agent: new Agent({ name: "desk", model, tools: [refund] }) };
}

function deskWith(refund: Tool, settings: HostedToolSettings, traced = true) {
  const model = new FakeModel((items) => {
    const results = resultsIn(items);
    return results.length === 0 ? [calls("refund", { id: "7" })] : [says(results.join())];
  });
  const storage = new InMemoryPersistenceStorageProvider();
  const runner = new DurableRunner({ storage, tools: { refund: settings }, config: { tracingDisabled: !traced } });
  return { runner, agent: new Agent({ name: "desk", model, tools: [refund] }) };
}

async function rolledBack(runner: DurableRunner) {
  const [oldest] = await runner.agent("a").getCheckpoints();
  return runner.agent("a").rollbackToCheckpoint(oldest?.checkpointId ?? "");
}

/** A run that is aborted within its first call: like a crash, but for the time. */
async function cutOff({ runner, agent }: ReturnType<typeof desk>, aborting: { abort?: () => void }): Promise<void> {
  const controller = new AbortController();
  aborting.abort = () => controller.abort(new Error("cut off"));
  await expect(runner.run(agent, "Refund.", { agentId: "a", signal: controller.signal })).rejects.toThrow("cut off");
}

describe("a failure in a run", () => {
  it.each([undefined, {}, { output: [null], usage: {} }, { output: [{ type: "message" }], usage: {} }])(
    "is reported for a malformed response: %j",
    async (answer) => {
      const { runner, agent, model } = desk(() => "refunded");
      model.getResponse = async () => answer as never;
      await expect(runner.run(agent, "Refund.", { agentId: "a" })).rejects.toMatchObject({
        code: "model_answer_malformed",
      });
    },
  );

  it("is reported for a response with more than 1,000 calls", async () => {
    const { runner, agent, model } = desk(() => "refunded");
    const output = Array.from({ length: 1_001 }, (_, at) => calls("refund", { id: "7" }, `call_${at}`));
    model.getResponse = async () => ({ output, usage: new Usage() });
    await expect(runner.run(agent, "Refund.", { agentId: "a" })).rejects.toMatchObject({ code: "too_many_tool_calls" });
  });

  it("of a stream after its last event counts the tokens of the response, and a resume requests it again", async () => {
    const { runner, agent, model } = desk(() => "refunded");
    const stream = model.getStreamedResponse.bind(model);
    model.getStreamedResponse = async function* (request) {
      yield* stream(request);
      if (model.requests.length === 1) throw new Error("connection lost");
    };
    const failed = await runner.run(agent, "Refund.", { agentId: "a", stream: true });
    await expect(failed.completed).rejects.toThrow("connection lost");
    expect(failed.state.usage.totalTokens).toBe(15);
    const resumed = await runner.resume(agent, { agentId: "a", stream: true });
    await resumed.completed;
    expect(resumed.finalOutput).toBe("refunded");
    expect(model.requests).toHaveLength(3);
  });

  it("of a tool is sent to the model as by the SDK", async () => {
    const own = desk(() => {
      throw new Error("secret");
    });
    const { finalOutput } = await own.runner.run(own.agent, "Refund.", { agentId: "a" });
    expect(finalOutput).toBe((await run(own.agent, "Refund.")).finalOutput);
  });

  it.each([
    ["with the text of the SDK", {}, true],
    ["with its own text", { errorFunction: (_context: unknown, error: unknown) => `own text: ${String(error)}` }, true],
    ["without a trace", { errorFunction: () => "own text" }, false],
  ])("of a tool is recorded as a failure and not undone: %s", async (_case, options, traced) => {
    const undone: unknown[] = [];
    const refund = tool({
      name: "refund",
      description: "Refunds.",
      parameters: z.object({ id: z.string() }),
      execute: async () => {
        throw new Error("declined");
      },
      ...options,
    });
    const { agent, runner } = deskWith(refund, { rollback: (_input, { output }) => undone.push(output) }, traced);
    const { finalOutput } = await runner.run(agent, "Refund.", { agentId: "a", runId: "r" });
    expect(finalOutput).toBe((await run(agent, "Refund.")).finalOutput);
    expect((await runner.run(agent, "Refund.", { agentId: "a", runId: "r" })).finalOutput).toBe(finalOutput);
    await rolledBack(runner);
    expect(undone).toEqual([]);
  });

  it.each([
    ["the text of the SDK", {}, "Tool 'refund' timed out after 20ms."],
    ["its own text", { timeoutErrorFunction: () => "too late" }, "too late"],
  ])("of a tool at its time limit leaves the outcome unknown and shows the model %s", async (_case, options, text) => {
    const undone: unknown[] = [];
    let end = (_output: string): void => {};
    const ended = new Promise<string>((resolve) => (end = resolve));
    const refund = tool({
      name: "refund",
      description: "Refunds.",
      parameters: z.object({ id: z.string() }),
      timeoutMs: 20,
      execute: () => ended,
      ...options,
    });
    const { agent, runner } = deskWith(refund, { rollback: (_input, { output }) => undone.push(output) });
    expect((await runner.run(agent, "Refund.", { agentId: "a" })).finalOutput).toBe(text);
    expect(await runner.agent("a").getToolCallsInDoubt()).toMatchObject([{ toolName: "refund" }]);
    end("refunded");
    expect(await rolledBack(runner)).toMatchObject({ reverted: [], failed: [{ toolName: "refund" }] });
    expect(undone).toEqual([]);
  });

  it("of a repeatable tool at its time limit is a failure", async () => {
    const refund = tool({
      name: "refund",
      description: "Refunds.",
      parameters: z.object({ id: z.string() }),
      timeoutMs: 20,
      timeoutBehavior: "raise_exception",
      execute: () => new Promise(() => {}),
    });
    const { agent, runner } = deskWith(refund, { effect: "idempotent" });
    await expect(runner.run(agent, "Refund.", { agentId: "a" })).rejects.toThrow(ToolTimeoutError);
    expect(await runner.agent("a").getToolCallsInDoubt()).toMatchObject([{ toolName: "refund" }]);
    expect((await runner.resume(agent, { agentId: "a" })).finalOutput).toBe("Tool 'refund' timed out after 20ms.");
  });

  it("of the library, such as a call in doubt, rejects the run and never reaches the model", async () => {
    const aborting: { abort?: () => void } = {};
    const own = desk(
      () => {
        aborting.abort?.();
        return new Promise(() => {});
      },
      { abortGraceMs: 0 },
    );
    await cutOff(own, aborting);
    await expect(own.runner.resume(own.agent, { agentId: "a" })).rejects.toMatchObject({
      code: "tool_call_in_doubt",
      declaration: 'new DurableRunner({ storage, tools: { "refund": { effect: "idempotent" } } })',
      message: expect.stringContaining(`runner.agent("a").settleToolCall("`) as unknown,
    });
    await expect(
      own.runner.run(own.agent, "Refund.", { agentId: "a", stream: true }).then((s) => s.completed),
    ).rejects.toThrow(ToolCallInDoubtError);
    expect(own.model.requests).toHaveLength(1);
    const [doubt] = await own.runner.agent("a").getToolCallsInDoubt();
    await own.runner.agent("a").settleToolCall(doubt?.toolCallId ?? "", { error: "it did not arrive" });
    expect((await own.runner.resume(own.agent, { agentId: "a" })).finalOutput).toBe("it did not arrive");
  });

  it("of the library never reaches the model from within an agent as a tool", async () => {
    const aborting: { abort?: () => void } = {};
    const inner = desk(
      () => {
        aborting.abort?.();
        return new Promise(() => {});
      },
      { abortGraceMs: 0 },
    );
    const outer = new FakeModel((items) => {
      const results = resultsIn(items);
      return results.length === 0 ? [calls("ask", { input: "Refund." })] : [says(results.join())];
    });
    const agent = new Agent({
      name: "outer",
      model: outer,
      tools: [inner.agent.asTool({ toolName: "ask", toolDescription: "" })],
    });
    await cutOff({ ...inner, agent }, aborting);
    await expect(inner.runner.resume(agent, { agentId: "a" })).rejects.toThrow(ToolCallInDoubtError);
    expect([outer.requests.length, inner.model.requests.length]).toEqual([1, 1]);
  });

  it("of a model request keeps the recorded responses, and a resume repeats only that request", async () => {
    let isDown = true;
    let made = 0;
    const own = desk(() => `refund ${++made}`);
    const { agent } = own;
    const model = new FakeModel((items) => {
      if (resultsIn(items).length === 0) return [calls("refund", { id: "7" })];
      return isDown ? new Error("overloaded") : [says(resultsIn(items).join())];
    });
    agent.model = model;
    await expect(own.runner.run(agent, "Refund.", { agentId: "a" })).rejects.toThrow("overloaded");
    isDown = false;
    const { finalOutput } = await own.runner.resume(agent, { agentId: "a" });
    expect(finalOutput).toBe("refund 1");
    expect(model.requests).toHaveLength(3);
  });

  it("is reported for invalid arguments before any change", async () => {
    const { runner, agent, model } = desk(() => "done");
    const { state } = await run(agent, "Refund.");
    const requests = model.requests.length;
    const refused = [
      () => runner.run(agent, state as never, { agentId: "a" }),
      () => runner.run(agent, 7 as never, { agentId: "a" }),
      () => runner.run(agent, "Refund.", {} as never),
    ];
    for (const attempt of refused) await expect(attempt()).rejects.toThrow(InvalidInputError);
    expect(() => new DurableRunner({ storage: 7 as never })).toThrow(InvalidInputError);
    const tools = { refund: { effect: "readonly" } } as never;
    expect(() => new DurableRunner({ storage: new InMemoryPersistenceStorageProvider(), tools })).toThrow(
      InvalidInputError,
    );
    await expect(runner.resume(agent, { agentId: "a" })).rejects.toThrow(RunNotOpenError);
    expect(model.requests).toHaveLength(requests);
  });

  it("keeps an unfinished run from being overwritten by another run", async () => {
    const own = desk(() => "done");
    own.agent.model = new FakeModel(() => new Error("overloaded"));
    await expect(own.runner.run(own.agent, "Refund.", { agentId: "a" })).rejects.toThrow("overloaded");
    await expect(own.runner.run(own.agent, "Something else.", { agentId: "a" })).rejects.toThrow(UnfinishedRunError);
    const listed: unknown[] = [];
    for await (const found of own.runner.unfinished({ includeFailed: true })) listed.push(found);
    expect(listed).toMatchObject([{ agentId: "a", status: "failed" }]);
  });

  it("rolls back a tool call by the inverse of its settings", async () => {
    const undone: unknown[] = [];
    const tools = {
      refund: { rollback: (input: { id: string }, { output }: { output: unknown }) => undone.push([input.id, output]) },
    };
    const { runner, agent } = desk(() => "refund-1", { tools });
    await runner.run(agent, "Refund.", { agentId: "a" });
    const [oldest] = await runner.agent("a").getCheckpoints();
    const report = await runner.agent("a").rollbackToCheckpoint(oldest?.checkpointId ?? "");
    expect(report.reverted).toHaveLength(1);
    expect(undone).toEqual([["7", "refund-1"]]);
  });
});

describe("code outside the loop", () => {
  it("can run agents whose responses are not recorded as responses of the run", async () => {
    const judge = new Agent({ name: "judge", model: new FakeModel(() => [says("fine")]) });
    const inputGuardrails: RunConfig["inputGuardrails"] = [
      {
        name: "judge",
        runInParallel: true,
        execute: async () => {
          const { finalOutput } = await run(judge, "Is it fine?");
          return { outputInfo: finalOutput, tripwireTriggered: false };
        },
      },
    ];
    const { runner, agent } = desk(() => "done", { config: { inputGuardrails } });
    agent.inputGuardrails = inputGuardrails;
    const first = await runner.run(agent, "Refund.", { agentId: "a", runId: "r" });
    expect(first.finalOutput).toBe("done");
    const again = await runner.run(agent, "Refund.", { agentId: "a", runId: "r" });
    expect(again.finalOutput).toBe("done");
    expect(again.rawResponses).toEqual(first.rawResponses);
  });

  it("can use other runners without records", async () => {
    const { agent, model } = desk(() => "done");
    const { finalOutput } = await new Runner().run(agent, "Refund.");
    expect(finalOutput).toBe("done");
    expect(model.requests).toHaveLength(2);
  });
});
