import { type AgentContext, persistence, strategy, tool } from "agent-persistence";
import { expect, it } from "vitest";
import { z } from "zod";
import { impatientClock } from "../../agent/impatientClock.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";

it.each(logStorages)("$name: a call that still runs when the run waits is in doubt", async ({ open }) => {
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const clock: ReturnType<typeof impatientClock> = {
    ...impatientClock(),
    after(_ms, callback) {
      let isCancelled = false;
      const pass = async () => {
        await begun;
        if (!isCancelled) callback();
      };
      void pass();
      return () => void (isCancelled = true);
    },
  };
  const inner = tool({
    name: "inner",
    description: "",
    inputSchema: z.object({}),
    effect: "irreversible",
    execute: () => {
      begin();
      return new Promise<string>(() => undefined);
    },
  });
  const outer = tool({
    name: "outer",
    description: "",
    inputSchema: z.object({}),
    effect: "irreversible",
    timeoutMs: 1_000,
    execute: (_input, { context }) => context.tools.call(inner, {}),
  });
  const asking = tool({
    name: "asking",
    description: "",
    inputSchema: z.object({}),
    effect: "irreversible",
    execute: (_input, { context }) => context.requestInput({ prompt: "what now?", schema: z.string() }),
  });
  const built = strategy<string, string>("s", (graph) => {
    const node = graph.node("node", async (_text: string, context: AgentContext) => {
      await context.tools.call(outer, {}).catch(() => undefined);
      return context.tools.call(asking, {});
    });
    graph.edge(graph.start, node);
    graph.edge(node, graph.finish);
  });
  const opened = await open();
  const agent = durableAgent(built, opened(), { tools: [inner, outer, asking], clock });
  expect(await agent.run("go")).toMatchObject({ status: "waiting" });
  const inDoubt = await persistence(agent).agent().getToolCallsInDoubt();
  expect(inDoubt.map(({ toolName }) => toolName).toSorted()).toEqual(["inner", "outer"]);
});

it.each(logStorages)("$name: a call that waits for a person leaves no timer of its time limit", async ({ open }) => {
  const timers = new Set<number>();
  let made = 0;
  const clock: ReturnType<typeof impatientClock> = {
    ...impatientClock(() => false),
    after() {
      const timer = made++;
      timers.add(timer);
      return () => void timers.delete(timer);
    },
  };
  const asking = tool({
    name: "asking",
    description: "",
    inputSchema: z.object({}),
    effect: "idempotent",
    timeoutMs: 1_000,
    execute: (_input, { context }) => context.requestInput({ prompt: "what now?", schema: z.string() }),
  });
  const built = strategy<string, string>("s", (graph) => {
    const node = graph.node("node", (_text: string, context: AgentContext) => context.tools.call(asking, {}));
    graph.edge(graph.start, node);
    graph.edge(node, graph.finish);
  });
  const opened = await open();
  const agent = durableAgent(built, opened(), { tools: [asking], clock });
  expect(await agent.run("go")).toMatchObject({ status: "waiting" });
  expect(made).toBeGreaterThan(0);
  expect(timers).toEqual(new Set());
});
