import { persistence, strategy, tool, type AgentContext } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { impatientClock } from "../../agent/impatientClock.ts";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";

describe.each(logStorages)("$name: tool calls that time out", (storage) => {
  /** A node whose call hangs, and which is interrupted after it; then it runs again. */
  async function hanging(effect: "idempotent" | "irreversible") {
    const opened = await storage.open();
    const fault = new Fault();
    const seen: unknown[] = [];
    let calls = 0;
    const pay = tool({
      name: "pay",
      description: "",
      inputSchema: z.string(),
      effect,
      timeoutMs: 1_000,
      execute: () => {
        calls++;
        return new Promise<string>(() => undefined);
      },
    });
    const graph = strategy<string, string>("s", (g) => {
      const only = g.node("only", async (_input: string, context: AgentContext) => {
        const paid = await context.tools
          .call(pay, "x")
          .catch((error: Error & { readonly code?: string }) => error.code);
        seen.push(paid);
        fault.strike();
        return String(paid);
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    const agent = () => durableAgent(graph, opened(), { tools: [pay], clock: impatientClock() });
    await expect(agent().run("go")).rejects.toThrow("stopped");
    fault.repair();
    return { agent, seen, calls: () => calls };
  }

  it("the outcome of a call with an effect is unknown until it is settled, and the call is not made again", async () => {
    const { agent, seen, calls } = await hanging("irreversible");
    const durable = persistence(agent()).agent();
    const [{ toolCallId } = { toolCallId: "" }] = await durable.getToolCallsInDoubt();
    await durable.settleToolCall(toolCallId, { output: "paid" });
    expect(await agent().resume()).toMatchObject({ output: "paid" });
    expect(seen).toEqual(["tool_outcome_unknown", "paid"]);
    expect(calls()).toBe(1);
  });

  it("the outcome of a call with an effect stays unknown in a replay", async () => {
    const { agent, seen, calls } = await hanging("irreversible");
    expect(await agent().resume()).toMatchObject({ output: "tool_outcome_unknown" });
    expect(seen).toEqual(["tool_outcome_unknown", "tool_outcome_unknown"]);
    expect(calls()).toBe(1);
    const checkpoints = await persistence(agent()).agent().getCheckpoints();
    expect(checkpoints.at(-1)?.toolCalls).toMatchObject([{ toolName: "pay", status: "unknown" }]);
  });

  it("a call that is safe to repeat fails, and its failure is replayed", async () => {
    const { agent, seen, calls } = await hanging("idempotent");
    expect(await agent().resume()).toMatchObject({ output: "tool_failed" });
    expect(seen).toEqual(["tool_failed", "tool_failed"]);
    expect(calls()).toBe(1);
  });
});
