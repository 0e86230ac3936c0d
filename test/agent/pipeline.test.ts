import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AIAgent } from "../../src/agent/AIAgent.ts";
import type { AgentFeature, FeaturePipeline } from "../../src/agent/feature/FeaturePipeline.ts";
import type { PipelineEvents } from "../../src/agent/feature/PipelineEvents.ts";
import type { RunStart } from "../../src/agent/feature/RunRequest.ts";
import { strategy } from "../../src/agent/strategy/Strategy.ts";
import { tool } from "../../src/agent/tool/Tool.ts";
import { FeatureNotInstalledError } from "../../src/errors/agentErrors.ts";
import { scriptedModel } from "../../src/testing/doubles/scriptedModel.ts";
import { otherRun } from "./otherRun.ts";
import { testFeature } from "./testFeature.ts";

const echo = tool({ name: "echo", description: "", inputSchema: z.string(), execute: (text) => text });
const model = {
  promptExecutor: scriptedModel([{ toolCalls: [{ toolName: "echo", input: "x" }] }, "done"]),
  llmModel: "m",
};
const looping = () => new AIAgent({ ...model, id: "a", tools: [echo] });

const nested = (fail?: "node" | "edge") =>
  new AIAgent({
    ...model,
    strategy: strategy<string, string>("s", (graph) => {
      const sub = graph.subgraph<string, string>("sub", (inner) => {
        const node = inner.node("node", (text: string) => {
          if (fail === "node") throw new RangeError("node failed");
          return `${text}!`;
        });
        inner.edge(inner.start, node);
        inner.edge(node, inner.finish, { when: () => fail !== "edge" });
      });
      graph.edge(graph.start, sub);
      graph.edge(sub, graph.finish);
    }),
  });

/** Registers a listener for every event. */
function listen(pipeline: FeaturePipeline, heard: (name: keyof PipelineEvents, event: unknown) => void): void {
  const names = [
    "agentStarting",
    "agentCompleted",
    "agentFailed",
    "strategyStarting",
    "strategyCompleted",
    "strategyFailed",
    "runMoved",
    "nodeStarting",
    "nodeCompleted",
    "nodeFailed",
    "subgraphStarting",
    "subgraphCompleted",
    "subgraphFailed",
    "modelRequestStarting",
    "modelRequestCompleted",
    "modelRequestFailed",
    "toolCallStarting",
    "toolCallCompleted",
    "toolCallFailed",
  ] as const satisfies readonly (keyof PipelineEvents)[];
  for (const name of names) {
    const method = `on${name[0]!.toUpperCase()}${name.slice(1)}` as `on${Capitalize<typeof name>}`;
    pipeline[method]((event: unknown) => heard(name, event));
  }
}

describe("pipeline events", () => {
  it("are emitted in order", async () => {
    const heard: string[] = [];
    await looping()
      .install(testFeature((pipeline) => listen(pipeline, (name) => heard.push(name))))
      .run("x");
    const visit = (...inner: readonly string[]) => ["nodeStarting", ...inner, "nodeCompleted"];
    expect(heard).toEqual([
      "agentStarting",
      "strategyStarting",
      ...visit("modelRequestStarting", "modelRequestCompleted"),
      ...visit("toolCallStarting", "toolCallCompleted"),
      ...visit("modelRequestStarting", "modelRequestCompleted"),
      "strategyCompleted",
      "agentCompleted",
    ]);
  });

  it("report subgraphs with their inputs and outputs", async () => {
    const heard: unknown[] = [];
    await nested()
      .install(
        testFeature((pipeline) => {
          pipeline.onSubgraphStarting(({ path, input }) => void heard.push({ path, input }));
          pipeline.onSubgraphCompleted(({ path, output }) => void heard.push({ path, output }));
        }),
      )
      .run("x");
    expect(heard).toEqual([
      { path: "sub", input: "x" },
      { path: "sub", output: "x!" },
    ]);
  });

  it.each(["node", "edge"] as const)("report a failing %s from the inside out", async (fail) => {
    const heard: string[] = [];
    const unresolved: unknown[] = [];
    const agent = nested(fail).install(
      testFeature((pipeline) => {
        listen(pipeline, (name) => heard.push(name));
        pipeline.onNodeFailed((event) => void unresolved.push(event.unresolved));
      }),
    );
    await expect(agent.run("x")).rejects.toThrow(fail === "node" ? "node failed" : "no condition matched");
    expect(heard.slice(-4)).toEqual(["nodeFailed", "subgraphFailed", "strategyFailed", "agentFailed"]);
    expect(unresolved).toEqual([fail === "edge" ? { output: "x!" } : undefined]);
  });

  it("are awaited, so the next node starts after every listener is done", async () => {
    const heard: string[] = [];
    await looping()
      .install(
        testFeature((pipeline) => {
          pipeline.onNodeCompleted(async ({ nodeId, next }) => {
            await otherRun();
            heard.push(`${nodeId} saved, next ${next.nodeId}`);
          });
          pipeline.onNodeStarting(({ nodeId }) => void heard.push(nodeId));
        }),
      )
      .run("x");
    expect(heard).toEqual([
      "callModel",
      "callModel saved, next callTools",
      "callTools",
      "callTools saved, next callModel",
      "callModel",
      "callModel saved, next finish",
    ]);
  });

  it.each([
    "onAgentStarting",
    "onStrategyStarting",
    "onNodeStarting",
    "onNodeCompleted",
    "onModelRequestCompleted",
    "onToolCallStarting",
    "onToolCallCompleted",
    "onAgentCompleted",
  ] as const)("of type %s make the run fail if a listener throws", async (name) => {
    const failed: unknown[] = [];
    const agent = looping().install(
      testFeature((pipeline) => {
        pipeline[name](() => {
          throw new RangeError(name);
        });
        pipeline.onAgentFailed(({ error }) => void failed.push(error));
      }),
    );
    await expect(agent.run("x")).rejects.toThrow(new RangeError(name));
    expect(failed).toEqual([new RangeError(name)]);
  });

  it("report the first failure if a listener of that failure throws as well", async () => {
    const agent = nested("node").install(
      testFeature((pipeline) =>
        pipeline.onNodeFailed(() => {
          throw new RangeError("listener");
        }),
      ),
    );
    await expect(agent.run("x")).rejects.toThrow("node failed");
  });
});

describe("interceptors", () => {
  it("wrap each other, the first installed outermost", async () => {
    const heard: string[] = [];
    const wrapping = (key: string) =>
      testFeature((pipeline) => {
        const around =
          (what: string) =>
          async <Event, Result>(event: Event, next: (event: Event) => Promise<Result>) => {
            heard.push(`${key} ${what}`);
            const result = await next(event);
            heard.push(`${key} /${what}`);
            return result;
          };
        pipeline.aroundRun(around("run"));
        pipeline.aroundNode(around("node"));
        pipeline.aroundModelRequest(around("request"));
        pipeline.aroundToolCall(around("call"));
      }, key);
    await looping().install(wrapping("1")).install(wrapping("2")).run("x");
    const wrapped = (what: string, ...inner: readonly string[]) => [
      `1 ${what}`,
      `2 ${what}`,
      ...inner,
      `2 /${what}`,
      `1 /${what}`,
    ];
    expect(heard).toEqual(
      wrapped(
        "run",
        ...wrapped("node", ...wrapped("request")),
        ...wrapped("node", ...wrapped("call")),
        ...wrapped("node", ...wrapped("request")),
      ),
    );
  });

  it("may respond without next to a run, a node, a model request or a tool call", async () => {
    const answering = (hooks: (pipeline: FeaturePipeline) => void) => looping().install(testFeature(hooks)).run("x");
    const recorded = { status: "completed", runId: "r", output: "recorded" } as const;
    expect(await answering((pipeline) => pipeline.aroundRun(async () => recorded))).toBe(recorded);
    expect(
      await answering((pipeline) => pipeline.aroundNode(async () => ({ role: "assistant", content: "node" }))),
    ).toMatchObject({
      output: "node",
    });
    expect(
      await answering((pipeline) =>
        pipeline.aroundModelRequest(async () => ({ message: { role: "assistant", content: "answer" } })),
      ),
    ).toMatchObject({ output: "answer" });
    const outputs: unknown[] = [];
    await answering((pipeline) => {
      pipeline.aroundToolCall(async () => "outcome");
      pipeline.onToolCallCompleted(({ output }) => void outputs.push(output));
    });
    expect(outputs).toEqual(["outcome"]);
  });

  it("may respond to a model request with foreign call ids, which are replaced", async () => {
    const ids: string[] = [];
    let asked = 0;
    await looping()
      .install(
        testFeature((pipeline) => {
          pipeline.aroundModelRequest(async (event, next) =>
            asked++ > 0
              ? next(event)
              : {
                  message: {
                    role: "assistant",
                    content: [{ type: "tool-call", toolCallId: "cached", toolName: "echo", input: "y" }],
                  },
                },
          );
          pipeline.aroundToolCall((event, next) => (ids.push(event.toolCallId), next(event)));
        }),
      )
      .run("x");
    expect(ids).toEqual([expect.stringMatching(/^[\w-]{22}$/)]);
  });

  const start = (change: Partial<RunStart>): RunStart => ({
    nodeId: "start",
    input: "x",
    state: {},
    line: { agentId: "a", runId: "r", lane: 3 },
    generation: 1,
    visitBase: 0,
    visitOrdinal: 0,
    runId: "r",
    ...change,
  });

  it("may start a run elsewhere, and recognize this start", async () => {
    const given = start({ nodeId: "callModel", input: "again", state: { messages: [], iteration: 4 } });
    const heard: unknown[] = [];
    const agent = looping().install(
      testFeature((pipeline) => {
        pipeline.claim("resume");
        pipeline.aroundRun((request, next) => next({ ...request, start: given }));
        pipeline.onStrategyStarting(
          ({ run, next }) => void heard.push(run.start === given, next.nodeId, next.input, run.state.iteration),
        );
        pipeline.onAgentCompleted(({ run }) => void heard.push(run.state.iteration, run.line.lane));
      }),
    );
    expect(await agent.resume()).toEqual({ status: "completed", runId: "r", output: "done" });
    expect(heard).toEqual([true, "callModel", "again", 4, 7, 3]);
  });

  it("may start after a node whose edges were not resolved, or at the end", async () => {
    const run = (given: RunStart) => {
      const nodes: string[] = [];
      return nested()
        .install(
          testFeature((pipeline) => {
            pipeline.aroundRun((request, next) => next({ ...request, start: given }));
            pipeline.onNodeStarting(({ nodeId }) => void nodes.push(nodeId));
          }),
        )
        .run("ignored")
        .then((result) => [result.status === "completed" && result.output, nodes]);
    };
    expect(await run(start({ nodeId: "sub/node", input: "out", unresolved: true }))).toEqual(["out", []]);
    expect(await run(start({ nodeId: "finish", input: "end" }))).toEqual(["end", []]);
    expect(await run(start({ nodeId: "node", input: "in" }))).toEqual(["in!", ["sub/node"]]);
  });

  it("may start a run that has used up its iterations, which then stops", async () => {
    const agent = looping().install(
      testFeature((pipeline) =>
        pipeline.aroundRun((request, next) => next({ ...request, start: start({ state: { iteration: 50 } }) })),
      ),
    );
    await expect(agent.run("x")).rejects.toThrow(
      expect.objectContaining({ code: "iteration_limit", nodeId: "callModel" }),
    );
  });

  it("must specify where a resume starts", async () => {
    const agent = looping().install(testFeature((pipeline) => pipeline.claim("resume")));
    await expect(agent.resume()).rejects.toThrow(TypeError);
  });

  it("receive the options that their feature claims", async () => {
    const agent = looping().install(
      testFeature((pipeline) => {
        pipeline.claim("runId", "history", "unfinished");
        pipeline.aroundRun((request, next) => {
          expect(request).toMatchObject({
            kind: "run",
            agentId: "b",
            input: "x",
            options: { runId: "mine", history: "continue" },
          });
          return next(request);
        });
      }),
    );
    expect(await agent.run("x", { agentId: "b", runId: "mine", history: "continue" })).toMatchObject({ runId: "mine" });
  });
});

describe("features", () => {
  const counter: AgentFeature<{ readonly limit: number }, { readonly seen: () => number }> = {
    key: "counter",
    install(pipeline, { limit }) {
      let seen = 0;
      pipeline.onNodeCompleted(() => void (seen = Math.min(limit, seen + 1)));
      return { seen: () => seen };
    },
  };

  it("are found through the agent and through a context", async () => {
    const agent = nested().install(counter, { limit: 3 });
    const inContext: number[] = [];
    agent.install(
      testFeature((pipeline) =>
        pipeline.onNodeCompleted(({ context }) => void inContext.push(context.feature(counter).seen())),
      ),
    );
    await agent.run("x");
    expect(agent.feature(counter).seen()).toBe(1);
    expect(inContext).toEqual([1]);
  });

  it("are installed once, before the first run", async () => {
    const agent = nested().install(counter, { limit: 3 });
    expect(() => agent.install(counter, { limit: 4 })).toThrow(
      expect.objectContaining({ name: "DuplicateNameError", code: "duplicate_feature", duplicateName: counter.key }),
    );
    await agent.run("x");
    expect(() => agent.install(testFeature(() => undefined))).toThrow(TypeError);
  });

  it("are named in the error if they are not installed", () => {
    expect(() => nested().feature(counter)).toThrow(FeatureNotInstalledError);
    expect(() => nested().feature(counter)).toThrow(expect.objectContaining({ feature: "counter" }));
    expect(() =>
      nested()
        .install(testFeature(() => undefined, "counter"))
        .feature(counter),
    ).toThrow(FeatureNotInstalledError);
  });

  it("receive the agent that they are installed into", () => {
    const facts: unknown[] = [];
    looping().install(
      testFeature(
        (pipeline) => void facts.push(pipeline.agentId, pipeline.graph.nodePaths, [...pipeline.tools.keys()]),
      ),
    );
    expect(facts).toEqual(["a", ["callModel", "callTools"], ["echo"]]);
  });

  it("are disposed with the agent, the last installed first", async () => {
    const disposed: string[] = [];
    const disposable = (key: string): AgentFeature<object, AsyncDisposable> => ({
      key,
      install: () => ({ [Symbol.asyncDispose]: async () => void disposed.push(key) }),
    });
    {
      await using agent = nested().install(disposable("1")).install(counter, { limit: 1 }).install(disposable("2"));
      await agent.run("x");
    }
    expect(disposed).toEqual(["2", "1"]);
  });
});
