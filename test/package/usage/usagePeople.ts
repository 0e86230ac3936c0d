// Approvals, branches side by side, and agents as tools.
import { z } from "zod";
import {
  AIAgent,
  type AgentContext,
  InMemoryPersistenceStorageProvider,
  type Message,
  type PendingRequest,
  Persistence,
  persistence,
  type PromptExecutor,
  RollbackToolRegistry,
  storageKey,
  strategy,
  tool,
} from "agent-persistence";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void => {};

declare const promptExecutor: PromptExecutor;
declare const show: (...values: readonly unknown[]) => void;
declare const bank: { refund(cents: number, key: string): Promise<{ id: string }>; take(id: string): Promise<void> };
const storage = new InMemoryPersistenceStorageProvider();

// ---- 1 approval of a tool call: a flag, or a function of the call, which may also say what is shown and until when
const refund = tool({
  name: "refund",
  description: "…",
  inputSchema: z.object({ cents: z.int() }),
  effect: "idempotent",
  needsApproval: ({ cents }, { toolCallId }) => {
    same<typeof cents, number>();
    same<typeof toolCallId, string>();
    return cents > 1_000 && { prompt: `Refund ${cents} cents?`, expiresAt: new Date(Date.now() + 86_400_000) };
  },
  execute: ({ cents }, { toolCallId }) => bank.refund(cents, toolCallId),
});
tool({ name: "wipe", description: "…", inputSchema: z.object({}), needsApproval: true, execute: () => {} });
// @ts-expect-error a text is no verdict
tool({ name: "odd", description: "…", inputSchema: z.object({}), needsApproval: () => "yes", execute: () => {} });

const desk = new AIAgent({ promptExecutor, llmModel: "m", tools: [refund] }).install(Persistence, {
  storage,
  rollbackToolRegistry: new RollbackToolRegistry().registerRollback(refund, (_input, { output }) =>
    bank.take(output.id),
  ),
});
const asked = await desk.run("refund order 7", { agentId: "order-7" });
if (asked.status === "waiting") {
  for (const request of asked.requests) {
    same<typeof request, PendingRequest>();
    if (request.kind === "approval")
      show(request.toolName, request.input, request.digest, request.agentPath, request.branch);
    const order = persistence(desk).agent("order-7");
    if (request.kind === "approval")
      await order.answer(request.requestId, { approved: true }, { by: "ann@example.com", digest: request.digest });
    else await order.reject(request.requestId, "not ours to say", { by: "ann@example.com" });
  }
  await desk.resume({ agentId: "order-7" });
}
// every agent that waits; by its short id alone, as somebody types it
for await (const { agentId, requestId, prompt, askedAt } of persistence(desk).listRequests({
  waitingFor: "human_approval",
})) {
  same<typeof agentId, string>();
  same<typeof prompt, string>();
  same<typeof askedAt, string>();
  await persistence(desk).reject(requestId, "too much");
}
await persistence(desk).answer("3fa9c2d17b40", { approved: true });

// ---- 2 branches known beforehand: each has the history and storage of the fork, and goes on at its own pace
const found = storageKey("found", z.array(z.string()));
export const research = strategy<string, string>("research", (graph) => {
  const facts = graph.node("facts", async (text: string, context: AgentContext) => {
    context.storage.set(found, [text]); // this branch's own, until the join
    const ok = await context.requestInput({ prompt: `Look up ${text}?`, schema: z.boolean() }); // siblings go on
    return ok ? text.length : 0;
  });
  const shout = graph.subgraph<string, string>("shout", (inner) => {
    const loud = inner.node("loud", (text: string) => text.toUpperCase());
    inner.edge(inner.start, loud);
    inner.edge(loud, inner.finish);
  });
  const both = graph.parallel("both", { facts, shout }, (results, context) => {
    same<typeof results, { readonly facts: number; readonly shout: string }>();
    same<typeof context.branches.facts.output, number>();
    same<typeof context.branches.shout.messages, readonly Message[]>(); // what the branch added to the history
    context.storage.set(found, [
      ...(context.branches.facts.storage.get(found) ?? []),
      ...(context.branches.shout.storage.get(found) ?? []),
    ]);
    context.llm.append(...context.branches.facts.messages); // after a join the history is the fork's, unless merge says otherwise
    return results.shout.repeat(results.facts);
  });
  const best = graph.parallel(
    "best",
    { a: graph.node("a", (text: string) => text), b: graph.node("b", (text: string) => text) },
    { history: "fresh", onFailure: "stop" },
    (results, context) => {
      context.branches[results.a.length > results.b.length ? "a" : "b"].adopt(); // go on as if it alone had run
      return results.a;
    },
  );
  // @ts-expect-error both takes a text, as each of its branches does
  graph.edge(best, both, { map: () => 1 });
  graph.edge(graph.start, both);
  graph.edge(both, best);
  graph.edge(best, graph.finish);
});

// ---- 3 as many branches as there are items
export const perFile = strategy<readonly string[], number>("perFile", (graph) => {
  const read = graph.node("read", async (path: string) => path.length);
  const all = graph.each(
    "all",
    read,
    {
      key: (path, index) => {
        same<typeof path, string>();
        same<typeof index, number>();
        return path;
      },
      concurrency: 4,
    },
    (results, context) => {
      same<typeof results, readonly number[]>(); // in the order of the items, whoever ended first
      same<(typeof context.branches)[number]["key"], string>();
      return results.reduce((sum, length) => sum + length, 0);
    },
  );
  graph.edge(graph.start, all);
  graph.edge(all, graph.finish);
});

// ---- 4 sub-agents: an agent as a tool, durable in its parent's log; the model calls it, or code does
const researcher = new AIAgent({ promptExecutor, llmModel: "m", strategy: research }).install(Persistence); // its own inverses and triggers; its storage is the parent's
const ask = researcher.asTool({
  name: "research",
  description: "…",
  inputSchema: z.object({ topic: z.string() }),
  input: ({ topic }) => topic,
});
researcher.asTool({
  name: "odd",
  description: "…",
  inputSchema: z.object({ topic: z.string() }),
  // @ts-expect-error the researcher takes a text
  input: ({ topic }) => topic.length,
});
const chief = new AIAgent({
  promptExecutor,
  llmModel: "m",
  tools: [ask, refund],
  strategy: strategy<string, string>("chief", (graph) => {
    const plan = graph.node("plan", async (topic: string, context: AgentContext) => {
      const [one, two] = await Promise.all([
        context.tools.call(ask, { topic }),
        context.tools.call(ask, { topic: `${topic}, again` }),
      ]);
      same<typeof one, string>();
      return one + two;
    });
    graph.edge(graph.start, plan);
    graph.edge(plan, graph.finish);
  }),
}).install(Persistence, {
  storage,
  onEvent: (event) => {
    if (event.type === "request_opened" || event.type === "branch_failed") show(event.agentPath, event.branch);
  },
});
const result = await chief.run("whales", { agentId: "chief-1" });
if (result.status === "waiting") for (const { requestId, agentPath } of result.requests) show(requestId, agentPath); // ["research"]
// open branches and sub-agents, each with its own node, input, history and status
const latest = await persistence(chief).agent("chief-1").getLatestCheckpoint();
for (const { path, nodeId, status } of latest?.branches ?? []) show(path, nodeId, status);
await persistence(chief).agent("chief-1").rollbackToCheckpoint("1-1"); // reverts what sub-agents did, too
