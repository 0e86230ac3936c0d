import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AIAgent } from "../../src/agent/AIAgent.ts";
import type { AgentContext } from "../../src/agent/context/AgentContext.ts";
import { storageKey } from "../../src/agent/context/StorageKey.ts";
import type { AgentRun } from "../../src/agent/feature/AgentRun.ts";
import { callOf, runOf, visitOf } from "../../src/agent/feature/ContextBinding.ts";
import type { FeaturePipeline } from "../../src/agent/feature/FeaturePipeline.ts";
import { strategy, runMoved } from "../../src/agent/strategy/Strategy.ts";
import type { RunStart } from "../../src/agent/feature/RunRequest.ts";
import { tool } from "../../src/agent/tool/Tool.ts";
import { ExecutionMovedError } from "../../src/errors/runErrors.ts";
import { IterationLimitError } from "../../src/errors/strategyErrors.ts";
import { scriptedModel } from "../../src/testing/doubles/scriptedModel.ts";
import { WatchedClock } from "../internal/WatchedClock.ts";
import { gate } from "./gate.ts";
import { manualClock } from "./manualClock.ts";
import { otherRun } from "./otherRun.ts";
import { testFeature } from "./testFeature.ts";

const key = storageKey("key", z.string());
const startOn = (run: AgentRun, nodeId: string, input: unknown, change: Partial<RunStart> = {}): RunStart => ({
  nodeId,
  input,
  state: { messages: [] },
  line: { ...run.line, lane: run.line.lane + 1 },
  generation: run.generation,
  visitBase: 100,
  visitOrdinal: 0,
  runId: run.runId,
  ...change,
});

interface Ended {
  readonly output?: string | undefined;
  readonly error?: unknown;
}

/** Moves as a feature would. */
async function jump(context: AgentContext, nodeId: string, input: unknown, change: Partial<RunStart> = {}) {
  const run = runOf(context);
  const except = callOf(context)?.toolCallId;
  await run.move({ ...(except !== undefined && { except: [except] }) }, async () =>
    startOn(run, nodeId, input, change),
  );
  return runMoved({});
}

/** Runs `first`, which moves to `second` or further; collects what happens. */
async function moving(
  first: (input: string, context: AgentContext) => unknown,
  second: (input: string, context: AgentContext) => unknown = (input) => input,
  hooks: (pipeline: FeaturePipeline) => void = () => undefined,
) {
  const events: string[] = [];
  const agent = new AIAgent({
    llmModel: "m",
    promptExecutor: scriptedModel([]),
    strategy: strategy<string, string>("s", (graph) => {
      const one = graph.node(
        "first",
        async (input: string, context): Promise<string> => (await first(input, context)) as string,
      );
      const two = graph.node(
        "second",
        async (input: string, context): Promise<string> => (await second(input, context)) as string,
      );
      graph.edge(graph.start, one);
      graph.edge(one, graph.finish);
      graph.edge(two, graph.finish);
    }),
  }).install(
    testFeature((pipeline) => {
      hooks(pipeline);
      pipeline.onNodeStarting(({ nodeId }) => void events.push(`${nodeId} starting`));
      pipeline.onNodeCompleted(({ nodeId }) => void events.push(`${nodeId} completed`));
      pipeline.onNodeFailed(({ nodeId }) => void events.push(`${nodeId} failed`));
      pipeline.onRunMoved(({ next }) => void events.push(`moved to ${next.nodeId}`));
    }),
  );
  const result = await agent.run("in").then(
    (done): Ended => ({ output: done.status === "completed" ? done.output : undefined }),
    (error: unknown): Ended => ({ error }),
  );
  return { events, ...result };
}

describe("a move from node code", () => {
  it("continues elsewhere, and the node it left emits no completion event", async () => {
    const moved = await moving(
      (input, context) => jump(context, "second", `${input} moved`),
      (input) => input,
    );
    expect(moved).toEqual({
      output: "in moved",
      events: ["first starting", "moved to second", "second starting", "second completed"],
    });
  });

  it.each(["returns", "throws"])("discards a result if the body %s afterwards", async (how) => {
    const { output } = await moving(async (_input, context) => {
      await jump(context, "second", "there");
      if (how === "throws") throw new RangeError("ignored");
      return "ignored";
    });
    expect(output).toBe("there");
  });

  it("replaces state, line and position", async () => {
    const seen: unknown[] = [];
    await moving(
      async (_input, context) => {
        context.storage.set(key, "old");
        context.llm.append({ role: "user", content: "old" });
        seen.push(visitOf(context), runOf(context).line.lane);
        return jump(context, "second", "", {
          state: { messages: [], storage: new Map([["key", "new"]]), iteration: 9 },
        });
      },
      (_input, context) => {
        const run = runOf(context);
        seen.push(
          visitOf(context),
          run.line.lane,
          context.storage.get(key),
          context.llm.messages,
          run.state.iteration,
          run.start?.nodeId,
        );
        return "";
      },
    );
    expect(seen).toEqual([{ base: 0, ordinal: 0 }, 1, { base: 100, ordinal: 0 }, 2, "new", [], 9, "second"]);
  });

  it("closes the context and all objects taken from it", async () => {
    const thrown: unknown[] = [];
    await moving(async (_input, context) => {
      const { llm, storage, tools } = context;
      const report = await jump(context, "second", "");
      const uses: (() => unknown)[] = [
        () => context.agentId,
        () => context.runId,
        () => context.nodeId,
        () => context.signal,
        () => context.llm,
        () => context.tools,
        () => context.storage,
        () => context.setProgress(1),
        () => context.recordDecision({ decision: "" }),
        () => context.require({}),
        () => context.feature(testFeature(() => undefined)),
        () => llm.messages,
        () => llm.append(),
        () => llm.rewrite((messages) => messages),
        () => llm.configure({}),
        () => llm.request(),
        () => tools.execute({ role: "assistant", content: "" }),
        () => tools.call(tool({ name: "t", description: "", inputSchema: z.string(), execute: () => 1 }), ""),
        () => storage.get(key),
        () => storage.set(key, ""),
        () => storage.delete(key),
      ];
      for (const use of uses) {
        thrown.push(
          await Promise.resolve()
            .then(use)
            .then(
              () => `${String(use)} did not throw`,
              (error: unknown) => error,
            ),
        );
      }
      return report;
    });
    expect(thrown).toHaveLength(21);
    for (const error of thrown) expect(error).toBeInstanceOf(ExecutionMovedError);
    expect(thrown[0]).toMatchObject({ code: "run_moved", nodeId: "first" });
  });

  it("is awaited if the node's function ends first, such as after a call that the move interrupted", async () => {
    const prepared = gate();
    const wait = tool({
      name: "wait",
      description: "",
      inputSchema: z.object({}),
      execute: (_input, { abortSignal }) =>
        new Promise((_resolve, reject) => abortSignal.addEventListener("abort", () => reject(new TypeError("cut")))),
    });
    const { output } = await moving(async (_input, context) => {
      const run = runOf(context);
      const interrupted = context.tools.call(wait, {});
      const move = run.move({}, async () => (await prepared.opened, startOn(run, "second", "there")));
      void interrupted.catch(() => otherRun().then(prepared.open));
      await Promise.all([move, interrupted]);
    });
    expect(output).toBe("there");
  });

  it("that fails makes the run fail with the same error", async () => {
    const { error, events } = await moving(async (_input, context) => {
      await runOf(context)
        .move({}, async () => {
          throw new RangeError("storage");
        })
        .catch(() => undefined);
      return "ignored";
    });
    expect(error).toEqual(new RangeError("storage"));
    expect(events).toEqual(["first starting", "first failed"]);
  });

  it("makes the run fail if it sets no next node", async () => {
    const { error } = await moving(async (_input, context) => void (await runOf(context).interrupt()));
    expect(error).toBeInstanceOf(ExecutionMovedError);
  });

  it("can be made with interrupt and moveTo", async () => {
    const { output } = await moving(async (_input, context) => {
      const run = runOf(context);
      expect(await run.interrupt()).toEqual([]);
      run.moveTo(startOn(run, "second", "by hand"));
      return runMoved({});
    });
    expect(output).toBe("by hand");
  });

  it("evaluates the edges of a node whose output is known, without running the node", async () => {
    const { output, events } = await moving((_input, context) =>
      jump(context, "second", "its output", { unresolved: true }),
    );
    expect(output).toBe("its output");
    expect(events).toEqual(["first starting", "moved to finish"]);
  });

  it("stops at the iteration limit if it repeats forever", async () => {
    const { error } = await moving((_input, context) => jump(context, "first", "again"));
    expect(error).toBeInstanceOf(IterationLimitError);
  });

  it("is refused while another move is in progress", async () => {
    const { output } = await moving(async (_input, context) => {
      const first = jump(context, "second", "one");
      await expect(runOf(context).move({}, async () => startOn(runOf(context), "second", "two"))).rejects.toThrow(
        ExecutionMovedError,
      );
      return first;
    });
    expect(output).toBe("one");
  });

  it("cannot be returned as a result before it has happened", async () => {
    const { error } = await moving(() => runMoved({}));
    expect(error).toBeInstanceOf(TypeError);
  });
});

describe("moves and calls in flight", () => {
  const begun = () => gate<string>();

  it("a move aborts them and waits until they end", async () => {
    const [steps, started, clock] = [[] as string[], begun(), new WatchedClock()];
    const slow = tool({
      name: "slow",
      description: "",
      inputSchema: z.object({}),
      execute: async (_input, { abortSignal, toolCallId }) => {
        const aborted = new Promise((resolve) => abortSignal.addEventListener("abort", resolve));
        started.open(toolCallId);
        await aborted;
        steps.push("aborted");
        // The move waits, for so long at the most.
        expect(await clock.timer()).toBe(5_000);
        await otherRun();
        steps.push("ended");
      },
    });
    const { output } = await moving(
      async (_input, context) => {
        const call = context.tools.call(slow, {});
        await started.opened;
        const run = runOf(context);
        const signal = context.signal;
        const move = run.move(
          {},
          async (unended) => (steps.push(`left ${unended.length}`), startOn(run, "second", "there")),
        );
        expect(signal.aborted).toBe(true);
        await expect(call).rejects.toThrow(ExecutionMovedError);
        await move;
      },
      undefined,
      (pipeline) => pipeline.limitAborts({ ms: 5_000, clock }),
    );
    expect(output).toBe("there");
    expect(steps).toEqual(["aborted", "ended", "left 0"]);
  });

  it("a move stops waiting for calls that do not end in time, and names them", async () => {
    const [clock, started] = [manualClock(), begun()];
    const deaf = tool({
      name: "deaf",
      description: "",
      inputSchema: z.object({}),
      execute: (_input, { toolCallId }) => (started.open(toolCallId), new Promise(() => undefined)),
    });
    const left: (readonly string[])[] = [];
    const { output } = await moving(
      async (_input, context) => {
        context.tools.call(deaf, {}).catch(() => undefined);
        const id = await started.opened;
        const run = runOf(context);
        const move = run.move({}, async (unended) => {
          left.push(unended, [id]);
          return startOn(run, "second", "there");
        });
        expect(clock.timers).toEqual([5_000]);
        clock.fire();
        await move;
      },
      undefined,
      (pipeline) => pipeline.limitAborts({ ms: 5_000, clock }),
    );
    expect(output).toBe("there");
    expect(left[0]).toEqual(left[1]);
  });

  it("a move from a tool doesn't abort the tool's call, drops its result, and rejects the promise of the node", async () => {
    const steps: unknown[] = [];
    const asker = tool({
      name: "asker",
      description: "",
      inputSchema: z.object({}),
      execute: async (_input, { context, abortSignal }) => {
        await jump(context, "second", "there");
        steps.push(abortSignal.aborted);
        expect(() => context.llm).toThrow(ExecutionMovedError);
        await otherRun();
        steps.push("tool ended");
        return "lost";
      },
    });
    const { output, events } = await moving(
      async (_input, context) => {
        await context.tools.call(asker, {}).catch((error: unknown) => steps.push(error));
        return "ignored";
      },
      (input) => (steps.push("second"), input),
    );
    expect(output).toBe("there");
    expect(steps).toEqual([expect.any(ExecutionMovedError), false, "tool ended", "second"]);
    expect(events).toEqual(["first starting", "moved to second", "second starting", "second completed"]);
  });

  it("a move from a tool doesn't abort the tool's call, even if an interceptor changed the call's id", async () => {
    const aborted: boolean[] = [];
    const asker = tool({
      name: "asker",
      description: "",
      inputSchema: z.object({}),
      execute: async (_input, { context, abortSignal, toolCallId }) => {
        await jump(context, "second", toolCallId);
        aborted.push(abortSignal.aborted);
      },
    });
    const { output } = await moving(
      (_input, context) => context.tools.call(asker, {}),
      (input) => input,
      (pipeline) => pipeline.aroundToolCall((event, next) => next({ ...event, toolCallId: "recorded" })),
    );
    expect([output, aborted]).toEqual(["recorded", [false]]);
  });

  it("a failing move from a tool makes the run fail", async () => {
    const asker = tool({
      name: "asker",
      description: "",
      inputSchema: z.object({}),
      execute: (_input, { context, toolCallId }) =>
        runOf(context).move({ except: [toolCallId] }, async () => {
          await otherRun();
          throw new RangeError("storage");
        }),
    });
    const { error } = await moving((_input, context) => context.tools.call(asker, {}).catch(() => undefined));
    expect(error).toEqual(new RangeError("storage"));
  });

  it("a move from one tool interrupts the other calls of the same message", async () => {
    const [ends, waiting] = [[] as string[], begun()];
    const asker = tool({
      name: "asker",
      description: "",
      inputSchema: z.object({}),
      execute: async (_input, { context }) => (await waiting.opened, void (await jump(context, "second", "there"))),
    });
    const other = tool({
      name: "other",
      description: "",
      inputSchema: z.object({}),
      execute: async (_input, { abortSignal }) => {
        const aborted = new Promise((resolve) => abortSignal.addEventListener("abort", resolve));
        waiting.open("");
        await aborted;
        ends.push(abortSignal.reason instanceof ExecutionMovedError ? "moved" : "?");
      },
    });
    const agent = new AIAgent({
      llmModel: "m",
      tools: [asker, other],
      promptExecutor: scriptedModel([{ toolCalls: ["asker", "other"].map((toolName) => ({ toolName, input: {} })) }]),
      strategy: strategy<string, string>("s", (graph) => {
        const first = graph.node("first", async (_input: string, context) =>
          context.tools.execute(await context.llm.request()),
        );
        const second = graph.node("second", (text: string) => text);
        graph.edge(graph.start, first);
        graph.edge(first, second, { map: () => "executed" });
        graph.edge(second, graph.finish);
      }),
    });
    expect(await agent.run("x")).toMatchObject({ output: "there" });
    expect(ends).toEqual(["moved"]);
  });
});

describe("visits", () => {
  it("visits are counted from the base that a feature sets, starting with the next visit", async () => {
    const seen: unknown[] = [];
    const agent = new AIAgent({
      llmModel: "m",
      promptExecutor: scriptedModel([]),
      strategy: strategy<number, number>("s", (graph) => {
        const node = graph.node("node", (n: number, context) => {
          if (n === 1) runOf(context).visitBase = 50;
          seen.push(visitOf(context));
          return n + 1;
        });
        graph.edge(graph.start, node);
        graph.edge(node, node, { when: (n) => n < 4 });
        graph.edge(node, graph.finish);
      }),
    });
    await agent.run(0);
    expect(seen).toEqual([
      { base: 0, ordinal: 0 },
      { base: 0, ordinal: 1 },
      { base: 50, ordinal: 0 },
      { base: 50, ordinal: 1 },
    ]);
  });
});
