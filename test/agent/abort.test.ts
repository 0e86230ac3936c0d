import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { AbortGrace } from "../../src/agent/feature/FeaturePipeline.ts";
import { AIAgent } from "../../src/agent/AIAgent.ts";
import type { AgentContext } from "../../src/agent/context/AgentContext.ts";
import type { PromptExecutor } from "../../src/agent/model/PromptExecutor.ts";
import { strategy } from "../../src/agent/strategy/Strategy.ts";
import { tool, type AnyTool } from "../../src/agent/tool/Tool.ts";
import { ToolNotStartedError } from "../../src/errors/toolCallErrors.ts";
import { scriptedModel } from "../../src/testing/doubles/scriptedModel.ts";
import { WatchedClock } from "../internal/WatchedClock.ts";
import { gate } from "./gate.ts";
import { manualClock } from "./manualClock.ts";
import { otherRun } from "./otherRun.ts";
import { testFeature } from "./testFeature.ts";

const reason = new RangeError("enough");

/** A run of one node, with the events that tell how it ended. */
function runNode(
  body: (context: AgentContext) => Promise<unknown>,
  options: {
    readonly tools?: readonly AnyTool[];
    readonly promptExecutor?: PromptExecutor;
    readonly grace?: AbortGrace;
    readonly onCompleted?: () => void;
  } = {},
) {
  const controller = new AbortController();
  const events: string[] = [];
  const outcomes: unknown[] = [];
  const feature = testFeature((pipeline) => {
    if (options.grace) pipeline.limitAborts(options.grace);
    pipeline.onNodeCompleted(({ nodeId }) => {
      events.push(`${nodeId} completed`);
      options.onCompleted?.();
    });
    pipeline.onNodeFailed(({ nodeId }) => void events.push(`${nodeId} failed`));
    pipeline.onNodeStarting(({ nodeId }) => void events.push(`${nodeId} starting`));
    pipeline.aroundToolCall(async (event, next) => {
      try {
        return await next(event);
      } catch (error) {
        outcomes.push(error);
        throw error;
      }
    });
  });
  const agent = new AIAgent({
    llmModel: "m",
    promptExecutor: options.promptExecutor ?? scriptedModel([]),
    ...(options.tools && { tools: options.tools }),
    strategy: strategy<string, string>("s", (graph) => {
      const node = graph.node("node", async (_input: string, context) => (await body(context), ""));
      const after = graph.node("after", (text: string) => text);
      graph.edge(graph.start, node);
      graph.edge(node, after);
      graph.edge(after, graph.finish);
    }),
  }).install(feature);
  return { controller, events, outcomes, result: agent.run("x", { signal: controller.signal }) };
}

function thrownBy(use: () => unknown): unknown {
  try {
    return use();
  } catch (error) {
    return error;
  }
}

describe("an aborted run", () => {
  it("does not start if its signal is aborted before", async () => {
    const events: string[] = [];
    const agent = new AIAgent({ llmModel: "m", promptExecutor: scriptedModel(["x"]) }).install(
      testFeature((pipeline) => pipeline.onAgentStarting(() => void events.push("starting"))),
    );
    await expect(agent.run("x", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(events).toEqual([]);
  });

  it("rejects with the reason between nodes, and the finished node stays finished", async () => {
    const { controller, events, result } = runNode(async () => controller.abort(reason));
    await expect(result).rejects.toBe(reason);
    expect(events).toEqual(["node starting", "node completed"]);
  });

  it("aborts its tool calls and waits for them without counting them as failed", async () => {
    const [begun, clock] = [gate(), new WatchedClock()];
    const steps: string[] = [];
    const slow = tool({
      name: "slow",
      description: "",
      inputSchema: z.object({}),
      execute: async (_input, { abortSignal, context }) => {
        const aborted = new Promise((resolve) => abortSignal.addEventListener("abort", resolve));
        begun.open();
        await aborted;
        // The run waits, for so long at the most.
        expect(await clock.timer()).toBe(7);
        await otherRun();
        steps.push(`ended, ${context.signal.aborted}`);
        throw new TypeError("cut short");
      },
    });
    const promptExecutor = scriptedModel([{ toolCalls: [{ toolName: "slow", input: {} }] }]);
    const { controller, events, outcomes, result } = runNode(
      async (context) => {
        const executed = context.tools.execute(await context.llm.request());
        await begun.opened;
        controller.abort(reason);
        expect(context.signal.aborted).toBe(true);
        await executed;
      },
      { tools: [slow], promptExecutor, grace: { ms: 7, clock } },
    );
    await expect(result).rejects.toBe(reason);
    expect(steps).toEqual(["ended, true"]);
    expect(outcomes).toEqual([reason]);
    expect(events).toEqual(["node starting", "node failed"]);
  });

  it("does not wait for a model without a response", async () => {
    const begun = gate();
    const deaf: PromptExecutor = { execute: () => (begun.open(), new Promise<never>(() => undefined)) };
    const { controller, result } = runNode((context) => context.llm.request(), { promptExecutor: deaf });
    await begun.opened;
    controller.abort(reason);
    await expect(result).rejects.toBe(reason);
  });

  it.each(["tool", "node"])(
    "stops waiting for a %s that ignores its signal once the grace period is over",
    async (deaf) => {
      const clock = manualClock();
      const [begun, later] = [gate(), gate()];
      const seen = gate<unknown>();
      const work = tool({
        name: "work",
        description: "",
        inputSchema: z.object({}),
        execute: async (_input, { context }) => {
          begun.open();
          await later.opened;
          seen.open(thrownBy(() => context.llm));
        },
      });
      const body = async (context: AgentContext): Promise<unknown> => {
        if (deaf === "tool") return context.tools.call(work, {});
        begun.open();
        await later.opened;
        return seen.open(thrownBy(() => context.llm));
      };
      const { controller, events, result } = runNode(body, { tools: [work], grace: { ms: 7, clock } });
      await begun.opened;
      controller.abort(reason);
      expect(clock.timers).toEqual([7]);
      clock.fire();
      await expect(result).rejects.toBe(reason);
      later.open();
      // What it left behind can do nothing more with the context.
      expect(await seen.opened).toBe(reason);
      await otherRun();
      expect(events).toEqual(["node starting", "node failed"]);
    },
  );

  it("leaves no timer behind if everything ends in time", async () => {
    const clock = manualClock();
    const { controller, result } = runNode(async () => controller.abort(reason), { grace: { ms: 7, clock } });
    await expect(result).rejects.toBe(reason);
    expect(clock.timers).toEqual([]);
  });

  it("starts no timer for a finished node while features still handle its end", async () => {
    const clock = manualClock();
    const onCompleted = () => controller.abort(reason);
    const { controller, result } = runNode(async () => {}, { grace: { ms: 7, clock }, onCompleted });
    await expect(result).rejects.toBe(reason);
    expect(clock.timers).toEqual([]);
  });

  it("starts no more calls, and reports each call as never started", async () => {
    let calls = 0;
    const count = tool({ name: "count", description: "", inputSchema: z.object({}), execute: () => ++calls });
    const { controller, outcomes, result } = runNode(async (context) => {
      const early = context.tools.call(count, {});
      controller.abort(reason);
      await expect(early).rejects.toBe(reason);
      await expect(context.tools.call(count, {})).rejects.toBe(reason);
      await expect(context.llm.request()).rejects.toBe(reason);
    });
    await expect(result).rejects.toBe(reason);
    expect(calls).toBe(0);
    expect(outcomes).toEqual([expect.any(ToolNotStartedError)]);
    expect(outcomes[0]).toMatchObject({ code: "tool_not_started", cause: reason });
  });

  it("rejects with the reason, whatever the node does with it", async () => {
    const { controller, result } = runNode(async () => {
      controller.abort(reason);
      throw new TypeError("because of the abort");
    });
    await expect(result).rejects.toBe(reason);
  });
});
