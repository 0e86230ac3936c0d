import {
  InMemoryPersistenceStorageProvider,
  persistence,
  strategy,
  tool,
  type AssistantMessage,
} from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { durableAgent } from "../support/durableAgent.ts";

interface Asked {
  readonly message: AssistantMessage;
  readonly step: number;
}

it.each(["idempotent", "reversible", "irreversible"] as const)(
  "a message that is executed again after a pruning repeats no call with the effect %s",
  async (effect) => {
    let made = 0;
    const count = tool({
      name: "count",
      description: "",
      inputSchema: z.object({}),
      effect,
      execute: () => ++made,
    });
    const graph = strategy<string, string>("s", (g) => {
      const ask = g.node("ask", (_input: string, context) => context.llm.request());
      const call = g.node("call", async (message: AssistantMessage, context): Promise<Asked> => {
        await context.tools.execute(message);
        return { message, step: 0 };
      });
      const step = g.node("step", ({ message, step: before }: Asked): Asked => ({ message, step: before + 1 }));
      const wait = g.node("wait", async (asked: Asked, context) => {
        await context.requestInput({ prompt: "Again?", schema: z.boolean() });
        return asked;
      });
      const again = g.node("again", async ({ message }: Asked, context) => {
        await context.tools.execute(message);
        return "done";
      });
      g.edge(g.start, ask);
      g.edge(ask, call);
      g.edge(call, step);
      g.edge(step, step, { when: ({ step: last }) => last < 5 });
      g.edge(step, wait);
      g.edge(wait, again);
      g.edge(again, g.finish);
    });
    const storage = new InMemoryPersistenceStorageProvider();
    const model = scriptedModel([{ toolCalls: [{ toolName: "count", input: {} }] }]);
    const agent = durableAgent(graph, storage, { tools: [count], model });
    await agent.run("go");
    const { pruned } = await persistence(agent).prune({
      agentId: "a",
      policy: { maxCheckpoints: 2, maxCheckpointsPaused: 2 },
    });
    expect(pruned[0]?.checkpointIds.length).toBeGreaterThan(3);
    const [request] = await persistence(agent).agent("a").getRequests();
    await persistence(agent)
      .agent("a")
      .answer(request?.requestId ?? "", true);
    expect(await agent.resume({ agentId: "a" })).toMatchObject({ status: "completed" });
    expect(made).toBe(1);
  },
);
