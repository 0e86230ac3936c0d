import {
  type AgentContext,
  persistence,
  RollbackToolRegistry,
  strategy,
  tool,
  type ToolEffect,
} from "agent-persistence";
import { ToolFailedError } from "agent-persistence/errors";
import type { AgentFeature } from "agent-persistence/feature";
import { inspect } from "agent-persistence/inspect";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { impatientClock } from "../../agent/impatientClock.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";

it.each(logStorages.flatMap((storage) => [true, false].map((inverse) => ({ ...storage, inverse }))))(
  "$name: a rollback shows a call that timed out after its effect (with an inverse: $inverse)",
  async ({ open, inverse }) => {
    const rows = new Set<string>();
    const done: string[] = [];
    const add = tool({
      name: "add",
      description: "",
      inputSchema: z.object({}),
      effect: "idempotent",
      timeoutMs: 1_000,
      execute: (_input, { toolCallId }) => {
        rows.add(toolCallId);
        done.push("add");
        return done.length === 1 ? new Promise<string>(() => undefined) : "added";
      },
    });
    const built = strategy<string, string>("s", (graph) => {
      const first = graph.node("first", async (text: string) => text);
      const second = graph.node("second", async (_text: string, context: AgentContext) =>
        context.tools.call(add, {}).catch((error: Error & { readonly code?: string }) => String(error.code)),
      );
      graph.edge(graph.start, first);
      graph.edge(first, second);
      graph.edge(second, graph.finish);
    });
    const registry = new RollbackToolRegistry();
    if (inverse)
      registry.registerRollback(add, (_input, { toolCallId }) => {
        done.push("undo");
        rows.delete(toolCallId);
      });
    const opened = await open();
    const agent = durableAgent(built, opened(), { tools: [add], registry, clock: impatientClock() });
    expect(await agent.run("go")).toMatchObject({ output: "tool_failed" });
    const durable = persistence(agent).agent();
    const [late, ...others] = await durable.getToolCallsInDoubt();
    expect([late, others]).toMatchObject([{ toolName: "add", effect: "idempotent" }, []]);
    expect(late).not.toHaveProperty("settled");
    const view = await inspect(opened()).agent("a");
    expect(view?.inDoubt).toMatchObject([
      { tool: "add", state: "in_doubt", undo: inverse ? "possible" : "irreversible" },
    ]);
    const [start] = await durable.getCheckpoints();
    const report = await durable.rollbackToCheckpoint(start?.checkpointId ?? "none");
    expect(report.reverted.map(({ toolName }) => toolName)).toEqual(inverse ? ["add"] : []);
    expect(report.failed.map(({ toolName }) => toolName)).toEqual(inverse ? [] : ["add"]);
    expect(done).toEqual(inverse ? ["add", "add", "undo"] : ["add"]);
    expect(rows.size).toBe(inverse ? 0 : 1);
    expect(await durable.getToolCallsInDoubt()).toHaveLength(inverse ? 0 : 1);
  },
);

const denying: AgentFeature<object, void> = {
  key: "denying",
  install(pipeline) {
    pipeline.aroundToolCall(async ({ tool: { name }, toolCallId }) => {
      throw new ToolFailedError(name, toolCallId, "denied");
    });
    return {};
  },
};

/** An agent that calls a tool and catches its error. @param execute gets the number of executions. */
function calling(
  done: string[],
  execute: (times: number, toolCallId: string) => Promise<string>,
  options: { readonly effect?: ToolEffect; readonly timeoutMs?: number },
) {
  const add = tool({
    ...options,
    name: "add",
    description: "",
    inputSchema: z.object({}),
    execute: async (_input, { toolCallId }) => execute(done.push("add"), toolCallId),
  });
  const registry = new RollbackToolRegistry().registerRollback(add, () => void done.push("undo"));
  const built = strategy<string, string>("s", (graph) => {
    const first = graph.node("first", async (text: string) => text);
    const second = graph.node("second", async (_text: string, context: AgentContext) =>
      context.tools.call(add, {}).then(String, (error: Error & { readonly code?: string }) => String(error.code)),
    );
    graph.edge(graph.start, first);
    graph.edge(first, second);
    graph.edge(second, graph.finish);
  });
  return { built, options: { tools: [add], registry, clock: impatientClock() } };
}

async function toStart(agent: Parameters<typeof persistence>[0]) {
  const durable = persistence(agent).agent();
  const [start] = await durable.getCheckpoints();
  return durable.rollbackToCheckpoint(start?.checkpointId ?? "none");
}

const hangs = () => new Promise<string>(() => undefined);

describe.each(logStorages)("$name: a rollback", ({ open }) => {
  it.each(["irreversible", "idempotent"] as const)("does not make a denied call (%s)", async (effect) => {
    const done: string[] = [];
    const { built, options } = calling(done, async () => "added", { effect });
    const opened = await open();
    const agent = durableAgent(built, opened(), options).install(denying);
    expect(await agent.run("go")).toMatchObject({ output: "tool_failed" });
    expect(await toStart(agent)).toMatchObject({ reverted: [], failed: [] });
    expect(done).toEqual([]);
  });

  it.each(["irreversible", "idempotent"] as const)("does not repeat a failed call (%s)", async (effect) => {
    const done: string[] = [];
    const fail = async (_times: number, toolCallId: string) => {
      throw new ToolFailedError("add", toolCallId, "refused");
    };
    const { built, options } = calling(done, fail, { effect });
    const opened = await open();
    const agent = durableAgent(built, opened(), options);
    expect(await agent.run("go")).toMatchObject({ output: "tool_failed" });
    expect(await toStart(agent)).toMatchObject({ reverted: [], failed: [] });
    expect(done).toEqual(["add"]);
  });

  it("fails if a repeated call exceeds the time limit of its agent", async () => {
    const done: string[] = [];
    const { built, options } = calling(done, hangs, { effect: "idempotent" });
    const opened = await open();
    const agent = durableAgent(built, opened(), { ...options, toolTimeoutMs: 1_000 });
    expect(await agent.run("go")).toMatchObject({ output: "tool_failed" });
    await expect(toStart(agent)).rejects.toMatchObject({
      code: "rollback_incomplete",
      failed: [{ toolName: "add", error: { code: "tool_failed" } }],
    });
    expect(done).toEqual(["add", "add", "add", "add"]);
  });

  it("asks about a late call whose tool is no longer safe to repeat", async () => {
    const done: string[] = [];
    const opened = await open();
    const before = calling(done, hangs, { effect: "idempotent", timeoutMs: 1_000 });
    const agent = durableAgent(before.built, opened(), before.options);
    expect(await agent.run("go")).toMatchObject({ output: "tool_failed" });
    const { built, options } = calling(done, async () => "added", {});
    const changed = durableAgent(built, opened(), options);
    const asked = (await toStart(changed).catch((error: unknown) => error)) as { readonly toolCallId: string };
    expect(asked).toMatchObject({ code: "tool_call_in_doubt", toolName: "add" });
    expect(done).toEqual(["add"]);
    const durable = persistence(changed).agent();
    expect(await durable.getToolCallsInDoubt()).toMatchObject([{ toolCallId: asked.toolCallId, toolName: "add" }]);
    await durable.settleToolCall(asked.toolCallId, { output: "added" });
    expect(await durable.getToolCallsInDoubt()).toEqual([]);
    expect((await toStart(changed)).reverted).toMatchObject([{ toolName: "add", output: "added" }]);
    expect(done).toEqual(["add", "undo"]);
  });
});
