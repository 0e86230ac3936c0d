import {
  type AgentContext,
  persistence,
  RollbackToolRegistry,
  strategy,
  tool,
  type ToolEffect,
} from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { impatientClock } from "../../agent/impatientClock.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";

describe.each(logStorages)("$name: an inverse that hangs", ({ open }) => {
  async function hanging(effect: ToolEffect, { timeoutMs, ...limits }: { timeoutMs?: number; toolTimeoutMs?: number }) {
    let tries = 0;
    let begin: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const common = { description: "", inputSchema: z.object({}) };
    const add = tool({ ...common, name: "add", execute: () => "added" });
    const undo = tool({
      ...common,
      name: "undo",
      effect,
      ...(timeoutMs !== undefined && { timeoutMs }),
      execute: () => {
        tries++;
        begin();
        return new Promise<string>(() => undefined);
      },
    });
    const built = strategy<string, string>("s", (graph) => {
      const first = graph.node("first", async (text: string) => text);
      const second = graph.node("second", async (_text: string, context: AgentContext) => context.tools.call(add, {}));
      graph.edge(graph.start, first);
      graph.edge(first, second);
      graph.edge(second, graph.finish);
    });
    const registry = new RollbackToolRegistry().registerRollback(add, undo);
    const opened = await open();
    const agent = durableAgent(built, opened(), {
      ...limits,
      tools: [add, undo],
      registry,
      clock: impatientClock(),
      inverseRetry: { attempts: 2, delayMs: 0 },
    });
    await agent.run("go");
    const durable = persistence(agent).agent();
    const [start] = await durable.getCheckpoints();
    const rollBack = () => durable.rollbackToCheckpoint(start?.checkpointId ?? "none");
    return { durable, rollBack, begun, tries: () => tries };
  }

  it("fails at its time limit and is tried again if it is safe to repeat", async () => {
    const { rollBack, tries } = await hanging("idempotent", { timeoutMs: 1_000 });
    await expect(rollBack()).rejects.toMatchObject({
      code: "rollback_incomplete",
      failed: [{ toolName: "add", error: { code: "tool_failed" } }],
    });
    expect(tries()).toBe(2);
  });

  it("fails at the time limit of its agent if it has no limit of its own", async () => {
    const { rollBack, tries } = await hanging("idempotent", { toolTimeoutMs: 1_000 });
    await expect(rollBack()).rejects.toMatchObject({
      code: "rollback_incomplete",
      failed: [{ toolName: "add", error: { code: "tool_failed" } }],
    });
    expect(tries()).toBe(2);
  });

  it("is in doubt at its time limit if it is not safe to repeat", async () => {
    const { durable, rollBack, tries } = await hanging("irreversible", { timeoutMs: 1_000 });
    await expect(rollBack()).rejects.toMatchObject({
      code: "rollback_incomplete",
      failed: [{ toolName: "add", error: { code: "tool_call_in_doubt" } }],
    });
    expect(tries()).toBe(1);
    const inDoubt = await durable.getToolCallsInDoubt();
    expect(inDoubt.map(({ toolName }) => toolName)).toEqual(["undo"]);
  });
});
