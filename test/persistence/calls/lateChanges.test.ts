import {
  type AgentContext,
  InMemoryPersistenceStorageProvider,
  persistence,
  storageKey,
  strategy,
  tool,
  type ToolEffect,
} from "agent-persistence";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate } from "../../agent/gate.ts";
import { durableAgent, Fault } from "../support/durableAgent.ts";

const count = storageKey("count", z.number());

const changes: readonly (readonly [string, (context: AgentContext) => void])[] = [
  ["sets a value", ({ storage }) => storage.set(count, 2)],
  ["deletes a value", ({ storage }) => storage.delete(count)],
  ["appends a message", ({ llm }) => llm.append({ role: "user", content: "late" })],
  ["rewrites the history", ({ llm }) => llm.rewrite(() => [])],
  ["configures the model", ({ llm }) => llm.configure({ model: "late" })],
  ["sets the progress", (context) => context.setProgress(2)],
  ["records a decision", (context) => context.recordDecision({ decision: "late" })],
  ["requires a file", (context) => context.require({ files: ["late"] })],
];

interface Lateness {
  readonly isAwaited: boolean;
  readonly within?: boolean;
  readonly effect?: ToolEffect;
}

/** An agent whose tool sets a value in time, and makes a change when its call is over. */
function lateAgent(
  change: (context: AgentContext) => void,
  { isAwaited, within = false, effect = "idempotent" }: Lateness,
) {
  const [begun, late] = [gate(), gate()];
  const errors: unknown[] = [];
  const clock = new SimulatedClock();
  const works = tool({
    name: "works",
    description: "",
    inputSchema: z.object({}),
    effect,
    timeoutMs: isAwaited && !within ? 1_000 : Infinity,
    execute: async (_input, { context }) => {
      context.storage.set(count, 1);
      const working = late.opened.then(() => change(context)).catch((error: unknown) => errors.push(error));
      begun.open();
      if (isAwaited) await working;
    },
  });
  const outer = tool({
    name: "outer",
    description: "",
    inputSchema: z.object({}),
    effect: "idempotent",
    timeoutMs: 1_000,
    execute: (_input, { context }) => context.tools.call(works, {}),
  });
  const fault = new Fault();
  const seen: unknown[] = [];
  const built = strategy<string, string>("late", (graph) => {
    const node = graph.node("node", async (text: string, context) => {
      await context.tools.call(within ? outer : works, {}).catch(() => undefined);
      late.open();
      // The late change is made in the next turn.
      await new Promise(setImmediate);
      seen.push([context.storage.get(count), context.llm.messages]);
      fault.strike();
      return text;
    });
    graph.edge(graph.start, node);
    graph.edge(node, graph.finish);
  });
  const storage = new InMemoryPersistenceStorageProvider();
  return {
    agent: () => durableAgent(built, storage, { tools: [works, outer], clock }),
    begun,
    clock,
    errors,
    fault,
    seen,
  };
}

describe.each([
  ["after its time limit", { isAwaited: true }],
  ["after the time limit of a call around it", { isAwaited: true, within: true }],
  ["after it returned", { isAwaited: false }],
] as const)("%s", (_name, how) => {
  it.each(changes)("a tool that %s gets an error, and a replay has the same state", async (_change, change) => {
    const { agent, begun, clock, errors, fault, seen } = lateAgent(change, how);
    const running = fault.stops(agent().run("go"));
    await begun.opened;
    if (how.isAwaited) clock.advance(1_000);
    if (how.isAwaited) clock.advance(60_000);
    await running;
    await agent().resume();
    expect(errors).toMatchObject([{ code: "tool_failed" }]);
    expect(seen[0]).toEqual([1, []]);
    expect(seen[1]).toEqual(seen[0]);
  });
});

it("keeps the changes of a call that exceeded its time limit, after a person settles the call", async () => {
  const how = { isAwaited: true, effect: "irreversible" } as const;
  const { agent, begun, clock, fault, seen } = lateAgent(() => undefined, how);
  const running = fault.stops(agent().run("go"));
  await begun.opened;
  clock.advance(1_000);
  clock.advance(60_000);
  await running;
  const durable = persistence(agent()).agent("a");
  const [call] = await durable.getToolCallsInDoubt();
  await durable.settleToolCall(call?.toolCallId ?? "", { output: "settled" });
  await agent().resume();
  expect(seen).toEqual([
    [1, []],
    [1, []],
  ]);
});
