import { type AgentContext, persistence, RollbackToolRegistry, strategy, tool } from "agent-persistence";
import { expect, it } from "vitest";
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
    const [start] = await durable.getCheckpoints();
    const report = await durable.rollbackToCheckpoint(start?.checkpointId ?? "none");
    expect(report.reverted.map(({ toolName }) => toolName)).toEqual(inverse ? ["add"] : []);
    expect(report.failed.map(({ toolName }) => toolName)).toEqual(inverse ? [] : ["add"]);
    expect(done).toEqual(inverse ? ["add", "add", "undo"] : ["add"]);
    expect(rows.size).toBe(inverse ? 0 : 1);
  },
);
