import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AIAgent, type AIAgentConfig } from "../../src/agent/AIAgent.ts";
import type { RunResult } from "../../src/agent/feature/RunResult.ts";
import { strategy } from "../../src/agent/strategy/Strategy.ts";
import { tool } from "../../src/agent/tool/Tool.ts";
import { FeatureNotInstalledError, InvalidAgentIdError, InvalidInputError } from "../../src/errors/agentErrors.ts";
import { IterationLimitError, NoMatchingEdgeError } from "../../src/errors/strategyErrors.ts";
import { scriptedModel } from "../../src/testing/doubles/scriptedModel.ts";
import { testFeature } from "./testFeature.ts";

const model = { promptExecutor: scriptedModel([]), llmModel: "m" };
const agentOf = <In, Out>(config: Pick<AIAgentConfig<In, Out>, "strategy" | "maxIterations" | "id">) =>
  new AIAgent({ ...model, ...config });
const outputOf = <Out>(result: RunResult<Out>): Out => {
  if (result.status !== "completed") throw new TypeError(`Expected a completed run, found ${result.status}.`);
  return result.output;
};

describe("a run", () => {
  it("visits node after node and ends with the output of the strategy", async () => {
    const visited: string[] = [];
    const agent = agentOf({
      strategy: strategy<string, number>("s", (graph) => {
        const upper = graph.node("upper", async (text: string, context) => {
          visited.push(`${context.nodeId} ${context.agentId}`);
          return text.toUpperCase();
        });
        const sub = graph.subgraph<string, number>("sub", (inner) => {
          const count = inner.node(
            "count",
            (text: string, { nodeId }) => (visited.push(`${nodeId} ${text}`), text.length),
          );
          inner.edge(inner.start, count);
          inner.edge(count, inner.finish);
        });
        graph.edge(graph.start, upper);
        graph.edge(upper, sub);
        graph.edge(sub, graph.finish);
      }),
    });
    const result = await agent.run("abc", { agentId: "one" });
    expect(result).toEqual({ status: "completed", runId: expect.any(String), output: 3 });
    expect(visited).toEqual(["upper one", "sub/count ABC"]);
    expect((await agent.run("abc")).runId).not.toBe(result.runId);
  });

  it("ends at once if the start is connected to the finish", async () => {
    const agent = agentOf({
      strategy: strategy<string, string>("s", (graph) => graph.edge(graph.start, graph.finish)),
    });
    expect(outputOf(await agent.run("x"))).toBe("x");
  });

  it("rejects with a node's error, and if no edge matches", async () => {
    const failing = (how: "node" | "condition" | "edge") =>
      agentOf({
        strategy: strategy<string, string>("s", (graph) => {
          const node = graph.node("node", (text: string) => {
            if (how === "node") throw new RangeError("node");
            return text;
          });
          graph.edge(graph.start, node);
          graph.edge(node, graph.finish, {
            when: () => {
              if (how === "condition") throw new RangeError("condition");
              return false;
            },
          });
        }),
      }).run("x");
    await expect(failing("node")).rejects.toThrow(new RangeError("node"));
    await expect(failing("condition")).rejects.toThrow(new RangeError("condition"));
    await expect(failing("edge")).rejects.toThrow(NoMatchingEdgeError);
  });

  it("stops at its iteration limit", async () => {
    let visits = 0;
    const circle = strategy<number, number>("circle", (graph) => {
      const node = graph.node("node", (value: number) => (visits++, value + 1));
      graph.edge(graph.start, node);
      graph.edge(node, graph.finish, { when: (value) => value === 60 });
      graph.edge(node, node);
    });
    await expect(agentOf({ strategy: circle }).run(0)).rejects.toThrow(
      expect.objectContaining({ code: "iteration_limit", maxIterations: 50, nodeId: "node" }),
    );
    expect(visits).toBe(50);
    await expect(agentOf({ strategy: circle, maxIterations: 59 }).run(0)).rejects.toThrow(IterationLimitError);
    expect(outputOf(await agentOf({ strategy: circle, maxIterations: 60 }).run(0))).toBe(60);
  });

  it("checks its input first", async () => {
    const events: string[] = [];
    const typed = strategy("typed", { input: z.object({ text: z.string() }), output: z.string() }, (graph) => {
      const node = graph.node("node", ({ text }: { text: string }) => text);
      graph.edge(graph.start, node);
      graph.edge(node, graph.finish);
    });
    const agent = agentOf({ strategy: typed }).install(
      testFeature((pipeline) => {
        pipeline.aroundRun((request, next) => (events.push("run"), next(request)));
        pipeline.onAgentStarting(() => void events.push("agent"));
      }),
    );
    const refused = agent.run({ text: 5 } as unknown as { text: string });
    await expect(refused).rejects.toThrow(InvalidInputError);
    await expect(refused).rejects.toThrow(
      expect.objectContaining({
        code: "invalid_input",
        subject: 'input of strategy "typed"',
        problems: [{ path: "text", expected: expect.stringContaining("string") }],
      }),
    );
    expect(events).toEqual([]);
    expect(outputOf(await agent.run({ text: "x" }))).toBe("x");
  });

  it("checks the inputs and outputs of nodes", async () => {
    const run = (value: unknown) =>
      agentOf({
        strategy: strategy<unknown, number>("s", (graph) => {
          const sub = graph.subgraph<unknown, number>("sub", (inner) => {
            const node = inner.node(
              "node",
              { input: z.coerce.number(), output: z.number().min(10) },
              async (input) => input * 10,
            );
            inner.edge(inner.start, node, { map: (given) => given as number });
            inner.edge(node, inner.finish);
          });
          graph.edge(graph.start, sub);
          graph.edge(sub, graph.finish);
        }),
      }).run(value);
    expect(outputOf(await run("4"))).toBe(40);
    await expect(run("many")).rejects.toThrow(
      expect.objectContaining({ code: "invalid_input", subject: 'input of node "sub/node"' }),
    );
    await expect(run("0")).rejects.toThrow(
      expect.objectContaining({ code: "invalid_input", subject: 'output of node "sub/node"' }),
    );
  });

  it("passes frozen copies from node to node", async () => {
    const kept: number[][] = [];
    const frozen: boolean[] = [];
    const agent = agentOf({
      strategy: strategy<number[], boolean>("s", (graph) => {
        const make = graph.node("make", (list: number[]) => {
          const made = [...list, 2];
          kept.push(made);
          return made;
        });
        const look = graph.node("look", (list: number[]) => {
          kept[0]?.push(3);
          return Object.isFrozen(list) && list.length === 2;
        });
        graph.edge(graph.start, make);
        graph.edge(make, look);
        graph.edge(look, graph.finish);
      }),
    }).install(
      testFeature((pipeline) =>
        pipeline.onNodeCompleted(
          ({ output, next }) => void frozen.push(Object.isFrozen(output) && output === next.input),
        ),
      ),
    );
    expect(outputOf(await agent.run([1]))).toBe(true);
    expect(frozen).toEqual([true, true]);
  });

  it("stays separate from 100 concurrent runs of its agent", async () => {
    const agent = new AIAgent({
      llmModel: "m",
      tools: [
        tool({
          name: "echo",
          description: "",
          inputSchema: z.string(),
          execute: async (text, { context }) => `${context.agentId}:${text}`,
        }),
      ],
      promptExecutor: scriptedModel([
        (messages) => ({
          toolCalls: [1, 2].map((n) => ({
            toolName: "echo",
            input: `${JSON.stringify(messages.at(-1)?.content)}${n}`,
          })),
        }),
        (messages) => JSON.stringify(messages.at(-1)?.content),
      ]),
    });
    const ids = Array.from({ length: 100 }, (_, at) => `agent-${at}`);
    const { signal } = new AbortController();
    const results = await Promise.all(ids.map((agentId) => agent.run(`hello ${agentId}`, { agentId, signal })));
    results.forEach((result, at) => {
      const parts = JSON.parse(outputOf(result)) as { output: string }[];
      expect(parts.map(({ output }) => output)).toEqual([1, 2].map((n) => `agent-${at}:"hello agent-${at}"${n}`));
    });
    expect(new Set(results.map(({ runId }) => runId)).size).toBe(100);
  });
});

describe("an agent", () => {
  it("refuses options that only a feature can fulfill, and names the feature", async () => {
    const agent = agentOf({
      strategy: strategy<string, string>("s", (graph) => graph.edge(graph.start, graph.finish)),
    });
    const refusals = [
      agent.resume(),
      agent.run("x", { runId: "r" }),
      agent.run("x", { history: "continue" }),
      agent.run("x", { unfinished: "abandon" }),
    ];
    for (const refusal of refusals) {
      await expect(refusal).rejects.toThrow(FeatureNotInstalledError);
      await expect(refusal).rejects.toThrow(
        expect.objectContaining({ code: "feature_not_installed", feature: "Persistence" }),
      );
    }
  });

  it.each(["", "\ud800", "é".repeat(513)])("refuses the id %j", async (id) => {
    const echo = strategy<string, string>("s", (graph) => graph.edge(graph.start, graph.finish));
    expect(() => agentOf({ strategy: echo, id })).toThrow(InvalidAgentIdError);
    await expect(agentOf({ strategy: echo }).run("x", { agentId: id })).rejects.toThrow(InvalidAgentIdError);
  });

  it("refuses two tools with one name, and an invalid limit", () => {
    const twin = () => tool({ name: "twin", description: "", inputSchema: z.string(), execute: () => 1 });
    expect(() => new AIAgent({ ...model, tools: [twin(), twin()] })).toThrow(
      expect.objectContaining({ name: "DuplicateNameError", code: "duplicate_tool", duplicateName: "twin" }),
    );
    expect(() => new AIAgent({ ...model, maxIterations: 0 })).toThrow(InvalidInputError);
  });
});
