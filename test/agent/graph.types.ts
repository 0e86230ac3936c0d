// Compiled, never run: what the types of strategies, tools and agents accept and refuse.
import { z } from "zod";
import { AIAgent } from "../../src/agent/AIAgent.ts";
import type { AgentContext } from "../../src/agent/context/AgentContext.ts";
import { storageKey } from "../../src/agent/context/StorageKey.ts";
import type { AgentFeature } from "../../src/agent/feature/FeaturePipeline.ts";
import type { AgentRun } from "../../src/agent/feature/AgentRun.ts";
import { callModel, callTools, hasToolCalls, textOf } from "../../src/agent/model/nodes.ts";
import {
  type InputOf,
  type Node,
  type OutputOf,
  strategy,
  runMoved,
  type RunMoved,
} from "../../src/agent/strategy/Strategy.ts";
import type { PromptExecutor } from "../../src/agent/model/PromptExecutor.ts";
import { tool, type AnyTool } from "../../src/agent/tool/Tool.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void => {};

declare const db: { insert(name: string): Promise<{ id: number }>; remove(name: string): Promise<void> };
declare const promptExecutor: PromptExecutor;
declare const rollback: () => Promise<{ readonly failed: readonly string[] } & RunMoved>;

const createUser = tool({
  name: "createUser",
  description: "…",
  inputSchema: z.object({ name: z.string(), age: z.coerce.number().default(0) }),
  execute: async ({ name, age }, { toolCallId, context }) => {
    same<typeof age, number>();
    same<typeof toolCallId, string>();
    same<typeof context, AgentContext>();
    return db.insert(name);
  },
});
const removeUser = tool({
  name: "removeUser",
  description: "…",
  inputSchema: z.object({ name: z.string() }),
  execute: ({ name }) => db.remove(name),
});
export const tools: readonly AnyTool[] = [createUser, removeUser];

const Draft = z.object({ text: z.string(), score: z.number() });
type Draft = z.infer<typeof Draft>;
type Verdict = { kind: "publish"; draft: Draft } | { kind: "rewrite"; reason: string };
const cart = storageKey("cart", z.array(z.string()));

const review = strategy<string, Draft>("review", (graph) => {
  const write = graph.node("write", async (topic: string) => ({ text: topic, score: 1 }));
  const parsed = graph.node("parsed", { input: Draft, output: Draft }, async (draft) => {
    same<typeof draft, Draft>();
    return { ...draft, score: 2 };
  });
  const check = graph.node("check", async (draft: Draft, context): Promise<Verdict> => {
    same<typeof context, AgentContext>();
    context.storage.set(cart, ["a"]);
    same<ReturnType<typeof readCart>, string[] | undefined>();
    function readCart() {
      return context.storage.get(cart);
    }
    // @ts-expect-error wrong value type
    context.storage.set(cart, [1]);
    return draft.score > 0 ? { kind: "publish", draft } : { kind: "rewrite", reason: "weak" };
  });
  const guard = graph.node("guard", async (draft: Draft) => {
    if (draft.score < 0) return rollback();
    if (draft.score === 0) return runMoved({});
    const report = await rollback();
    if (report.failed.length > 0) return report;
    return draft;
  });
  same<typeof guard, Node<Draft, Draft>>();
  graph.edge(graph.start, write);
  graph.edge(write, parsed);
  graph.edge(parsed, check);
  graph.edge(check, guard, { when: (verdict) => verdict.kind === "publish", map: (verdict) => verdict.draft });
  graph.edge(check, write, { when: (verdict) => verdict.kind === "rewrite", map: (verdict) => verdict.reason });
  graph.edge(guard, graph.finish);

  const rewrite = graph.node("rewrite", async (order: Extract<Verdict, { kind: "rewrite" }>) => order.reason);
  graph.edge(check, rewrite, { when: (verdict) => verdict.kind === "rewrite" }); // the guard is inferred
  // @ts-expect-error the guard leaves the wrong half
  graph.edge(check, rewrite, { when: (verdict) => verdict.kind === "publish" });
  // @ts-expect-error a condition that is no guard does not narrow
  graph.edge(check, rewrite, { when: (verdict): boolean => verdict.kind === "rewrite" });
  // @ts-expect-error without a condition a Verdict does not fit
  graph.edge(check, rewrite);
  // @ts-expect-error write takes a string, parsed gives a Draft
  graph.edge(parsed, write);
  // @ts-expect-error finish takes a Draft
  graph.edge(rewrite, graph.finish);
  // @ts-expect-error map must give a string
  graph.edge(parsed, write, { map: (draft) => draft.score });
  // @ts-expect-error nothing leads to start
  graph.edge(write, graph.start);

  const facts = graph.subgraph<string, number>("facts", (inner) => {
    const count = inner.node("count", (text: string) => text.length);
    inner.edge(inner.start, count);
    inner.edge(count, inner.finish);
  });
  same<InputOf<typeof facts>, string>();
  same<OutputOf<typeof facts>, number>();
  graph.edge(write, facts, { map: (draft) => draft.text });
  graph.edge(facts, write, { map: (count) => String(count) });
  const again = graph.subgraph("again", typed);
  same<typeof again, Node<string, number>>();
});

// @ts-expect-error the schemas of the strategy win over a wrong graph
strategy("typed", { input: z.string(), output: z.number() }, (graph) => graph.edge(graph.start, graph.finish));
strategy("untyped", (graph) => {
  const node = graph.node("n", (text: string) => text);
  // @ts-expect-error without type arguments nothing is silently `any`
  graph.edge(graph.start, node);
});

const typed = strategy("typed", { input: z.string(), output: z.number() }, (graph) => {
  const n = graph.node("n", (text: string) => text.length);
  graph.edge(graph.start, n);
  graph.edge(n, graph.finish);
});
export async function typedRun(): Promise<void> {
  const result = await new AIAgent({ promptExecutor, llmModel: "m", strategy: typed }).run("x");
  if (result.status === "completed") same<typeof result.output, number>();
}

const agent = new AIAgent({ promptExecutor, llmModel: "m", strategy: review, tools: [createUser] });
same<typeof agent, AIAgent<string, Draft>>();
same<ReturnType<typeof plain>, AIAgent<string, string>>();
function plain() {
  return new AIAgent({ promptExecutor, llmModel: "m" });
}
// @ts-expect-error wrong input
void agent.run(5);
export async function results(): Promise<void> {
  const result = await agent.run("topic", { agentId: "support-42" });
  if (result.status === "completed") same<typeof result.output, Draft>();
  else if (result.status === "waiting") {
    for (const request of result.requests) if (request.kind === "approval") request.toolName.at(0);
  }
}

const counter: AgentFeature<{ readonly limit: number }, { readonly seen: () => number }> = {
  key: "counter",
  install(pipeline, { limit }) {
    let seen = 0;
    pipeline.onNodeCompleted(({ run }) => {
      same<typeof run, AgentRun>();
      seen = Math.min(limit, seen + 1);
    });
    return { seen: () => seen };
  },
};
const optional: AgentFeature<{ readonly limit?: number }, void> = { key: "optional", install: () => undefined };
agent.install(counter, { limit: 3 }).install(optional).install(optional, { limit: 1 });
same<ReturnType<typeof counterOf>, { readonly seen: () => number }>();
function counterOf() {
  return agent.feature(counter);
}
// @ts-expect-error its config is required
agent.install(counter);
// @ts-expect-error unknown option
agent.install(optional, { limits: 1 });

export const loop = strategy<string, string>("loop", (graph) => {
  const ask = graph.node("callModel", callModel);
  const act = graph.node("callTools", callTools);
  graph.edge(graph.start, ask);
  graph.edge(ask, act, { when: hasToolCalls });
  graph.edge(act, ask);
  graph.edge(ask, graph.finish, { when: (message) => !hasToolCalls(message), map: textOf });
  const direct = graph.node("direct", async (name: string, context) => {
    const user = await context.tools.call(createUser, { name });
    same<typeof user, { id: number }>();
    // @ts-expect-error createUser takes a name
    await context.tools.call(createUser, { id: 1 });
    context.setProgress(50, "half way");
    context.recordDecision({ decision: "use the first" });
    context.require({ environment: { node: ">=20.19" } });
    return String(user.id);
  });
  graph.edge(direct, graph.finish);
});
