import {
  type AgentContext,
  InMemoryPersistenceStorageProvider,
  persistence,
  strategy,
  triggers,
} from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate } from "../../agent/gate.ts";
import { durableAgent } from "../support/durableAgent.ts";

describe("an answer to a branch that is refused as too large", () => {
  it("leaves the large values of other branches", async () => {
    const [checking, written, end] = [gate(), gate(), gate()];
    const schema = z.string().refine(async () => {
      checking.open();
      await written.opened;
      return true;
    });
    const graph = strategy<string, string>("both", (g) => {
      const asks = g.node("asks", (_input: string, context: AgentContext) =>
        context.requestInput({ prompt: "?", schema }),
      );
      const writes = g.subgraph<string, string>("writes", (h) => {
        const write = h.node("write", async (input: string, context: AgentContext) => {
          await checking.opened;
          context.llm.append({ role: "user", content: "m".repeat(20_000) });
          return input;
        });
        const rest = h.node("rest", async (input: string) => {
          written.open();
          await end.opened;
          return input;
        });
        h.edge(h.start, write);
        h.edge(write, rest);
        h.edge(rest, h.finish);
      });
      const both = g.parallel("both", { asks, writes }, (results, context) => {
        context.branches.writes.adopt();
        return results.asks;
      });
      g.edge(g.start, both);
      g.edge(both, g.finish);
    });
    const agent = durableAgent(graph, new InMemoryPersistenceStorageProvider(), {
      triggers: [triggers.afterAgentCompletion()],
    });
    const running = agent.run("go", { agentId: "a" });
    const durable = persistence(agent).agent("a");
    await expect.poll(async () => (await durable.getRequests()).length).toBe(1);
    const [request] = await durable.getRequests();
    const requestId = request?.requestId ?? "";
    const large = durable.answer(requestId, "a".repeat(6 * 1024 * 1024));
    await expect(large).rejects.toMatchObject({ code: "checkpoint_too_large" });
    await durable.answer(requestId, "ok");
    end.open();
    expect(await running).toMatchObject({ status: "completed", output: "ok" });
    expect(await durable.getMessages()).toHaveLength(1);
  });
});
