import { z } from "zod";
import {
  AIAgent, callModel, callTools, hasToolCalls, textOf, InMemoryPersistenceStorageProvider, Persistence, RollbackToolRegistry, 
  persistence, storageKey, strategy, tool, withPersistence,
  type AgentCheckpointData, type AgentContext, type AgentFeature, type AnyTool, type PersistenceStorageProvider, type PromptExecutor,
} from "agent-persistence";
import { crashAfter, scriptedModel } from "agent-persistence/testing";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void => {};

declare const db: { insert(name: string): Promise<{ id: number }>; remove(name: string): Promise<void>; removeById(id: number): Promise<void> };
declare const promptExecutor: PromptExecutor;

// ---- tools
const createUser = tool({
  name: "createUser", description: "…", inputSchema: z.object({ name: z.string(), age: z.coerce.number().default(0) }),
  execute: async ({ name, age }, { toolCallId, context }) => {
    same<typeof age, number>(); same<typeof toolCallId, string>();
    await persistence(context).createCheckpoint();                       // works inside a tool
    return db.insert(name);
  },
});
const removeUser = tool({ name: "removeUser", description: "…", inputSchema: z.object({ name: z.string() }), execute: ({ name }) => db.remove(name) });
const removeById = tool({ name: "removeById", description: "…", inputSchema: z.object({ id: z.number() }), execute: ({ id }) => db.removeById(id) });
const tools: readonly AnyTool[] = [createUser, removeUser, removeById];

// ---- 4 rollback tools
const registry = new RollbackToolRegistry()
  .registerRollback(createUser, removeUser)
  .registerRollback(createUser, async (input, { output, toolCallId }) => {
    same<typeof input, { name: string; age: number }>(); same<typeof output, { id: number }>(); same<typeof toolCallId, string>();
    await db.removeById(output.id);
  });
// @ts-expect-error removeById wants { id }, createUser gives { name }
new RollbackToolRegistry().registerRollback(createUser, removeById);

// ---- strategy: inference of nodes and edges
const Draft = z.object({ text: z.string(), score: z.number() });
type Draft = z.infer<typeof Draft>;
type Verdict = { kind: "publish"; draft: Draft } | { kind: "rewrite"; reason: string };
const cart = storageKey("cart", z.array(z.string()));

const review = strategy<string, Draft>("review", (graph) => {
  const write = graph.node("write", async (topic: string) => ({ text: topic, score: 1 }));
  const parsed = graph.node("parsed", { input: Draft, output: Draft }, async (draft) => { same<typeof draft, Draft>(); return { ...draft, score: 2 }; });
  const check = graph.node("check", async (draft: Draft, context): Promise<Verdict> => {
    same<typeof context, AgentContext>();
    context.storage.set(cart, ["a"]);
    same<ReturnType<typeof readCart>, string[] | undefined>();
    function readCart() { return context.storage.get(cart); }
    // @ts-expect-error wrong value type
    context.storage.set(cart, [1]);
    return draft.score > 0 ? { kind: "publish", draft } : { kind: "rewrite", reason: "weak" };
  });
  // ---- 6 rollback and execution point inside a node: the node's output type stays Draft
  const guard = graph.node("guard", async (draft: Draft, context) => {
    const p = persistence(context);
    if (draft.score < 0) return p.rollbackToCheckpoint("cp-1");
    if (draft.score === 0) return p.setExecutionPoint({ nodeId: check, input: draft, messageHistory: [] });
    // @ts-expect-error check takes a Draft
    if (draft.score === 1) return p.setExecutionPoint({ nodeId: check, input: "a string" });
    const report = await p.rollbackToLatestCheckpoint();
    if (report.failed.length > 0) return report;
    return draft;
  });
  graph.edge(graph.start, write);
  graph.edge(write, parsed);
  graph.edge(parsed, check);
  graph.edge(check, guard, { when: (verdict) => verdict.kind === "publish", map: (verdict) => verdict.draft });
  graph.edge(check, write, { when: (verdict) => verdict.kind === "rewrite", map: (verdict) => verdict.reason });
  graph.edge(guard, graph.finish);

  const rewrite = graph.node("rewrite", async (order: Extract<Verdict, { kind: "rewrite" }>) => order.reason);
  graph.edge(check, rewrite, { when: (verdict) => verdict.kind === "rewrite" });        // the guard is inferred
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

  const facts = graph.subgraph<string, number>("facts", (inner) => {
    const count = inner.node("count", (text: string) => text.length);
    inner.edge(inner.start, count); inner.edge(count, inner.finish);
  });
  graph.edge(write, facts, { map: (draft) => draft.text });
  graph.edge(facts, write, { map: (count) => String(count) });
});
// @ts-expect-error the schemas of the strategy win over a wrong graph
strategy("typed", { input: z.string(), output: z.number() }, (graph) => graph.edge(graph.start, graph.finish));
// @ts-expect-error without type arguments nothing is silently `any`
strategy("untyped", (graph) => graph.edge(graph.start, graph.node("n", (text: string) => text)));

// ---- 1 install
const agent = new AIAgent({ promptExecutor, llmModel: "m", strategy: review, tools: [createUser] })
  .install(Persistence, { storage: new InMemoryPersistenceStorageProvider(), enableAutomaticPersistence: true, rollbackToolRegistry: registry });
same<typeof agent, AIAgent<string, Draft>>();
const plain = new AIAgent({ promptExecutor, llmModel: "m" }).install(Persistence);
same<typeof plain, AIAgent<string, string>>();
// @ts-expect-error unknown option
agent.install(Persistence, { enableAutomatic: true });
// @ts-expect-error wrong input
await agent.run(5);
const result = await agent.run("topic", { agentId: "support-42" });
if (result.status === "completed") same<typeof result.output, Draft>();
else if (result.status === "waiting") for (const request of result.requests) if (request.kind === "approval") request.toolName.at(0);

// a user's own feature, side by side
const counter: AgentFeature<{ readonly limit: number }, { readonly seen: () => number }> = {
  key: "counter",
  install(pipeline, { limit }) { let seen = 0; pipeline.onNodeCompleted(() => { seen = Math.min(limit, seen + 1); }); return { seen: () => seen }; },
};
agent.install(counter, { limit: 3 });
same<ReturnType<typeof counterOf>, { readonly seen: () => number }>();
function counterOf() { return agent.feature(counter); }
// @ts-expect-error its config is required
agent.install(counter);

// ---- 2 custom provider, with an own filter type
interface TenantFilter { readonly tenant: string }
class MyCustomStorageProvider implements PersistenceStorageProvider<TenantFilter> {
  readonly #rows: AgentCheckpointData[] = [];
  getCheckpoints = async (agentId: string, _filter?: TenantFilter) => this.#rows.filter((row) => row.agentId === agentId);
  saveCheckpoint = async (_agentId: string, checkpoint: AgentCheckpointData) => { this.#rows.push(checkpoint); };
  getLatestCheckpoint = async (agentId: string) => (await this.getCheckpoints(agentId)).at(-1);
}
agent.install(Persistence, { storage: new MyCustomStorageProvider() });
// … and with methods, the usual way
class MethodProvider implements PersistenceStorageProvider {
  async getCheckpoints(_agentId: string): Promise<AgentCheckpointData[]> { return []; }
  async saveCheckpoint(_agentId: string, _checkpoint: AgentCheckpointData): Promise<void> {}
  async getLatestCheckpoint(_agentId: string): Promise<AgentCheckpointData | undefined> { return undefined; }
}
agent.install(Persistence, { storage: new MethodProvider() });

// ---- 3 unit test with in-memory storage
{
  const storage = new InMemoryPersistenceStorageProvider();
  const build = (provider: PersistenceStorageProvider<never>) =>
    new AIAgent({ id: "t", promptExecutor: scriptedModel([{ toolCalls: [{ toolName: "createUser", input: { name: "Alex" } }] }, "done"]), llmModel: "scripted", tools: [createUser] })
      .install(Persistence, { storage: provider });
  await build(crashAfter(storage, 2)).run("sign up Alex").catch(() => {});
  const second = await build(storage).resume();
  if (second.status === "completed") same<typeof second.output, string>();
}

// ---- 5 manual checkpoint, every form
export async function example(context: AgentContext) {
  const checkpoint = await persistence(context).createCheckpoint({ agentContext: context, nodeId: "check", lastInput: { text: "", score: 1 }, lastInputType: Draft, checkpointId: "before-check", version: 0 });
  // @ts-expect-error lastInput does not fit lastInputType
  await persistence(context).createCheckpoint({ nodeId: "check", lastInput: 5, lastInputType: Draft });
  await withPersistence(context, (p, ctx) => p.createCheckpoint({ agentContext: ctx }));
  return checkpoint.checkpointId;
}

// ---- 7 web server: resume everything after a restart, one definition, many conversations
for await (const { agentId, status } of persistence(agent).unfinished()) if (status === "interrupted") await agent.resume({ agentId });
const post = (conversationId: string, messageId: string, text: string) => agent.run(text, { agentId: conversationId, runId: messageId, history: "continue" });

export { tools, post };
// an inverse that needs more, or a stricter schema than the stored arguments went through, is refused
const removeWithReason = tool({ name: "rm", description: "", inputSchema: z.object({ name: z.string(), reason: z.string() }), execute: () => 1 });
const removeOptional = tool({ name: "rm", description: "", inputSchema: z.object({ name: z.string(), reason: z.string().optional() }), execute: () => 1 });
const setAge = tool({ name: "setAge", description: "", inputSchema: z.object({ age: z.coerce.number() }), execute: ({ age }) => age });
const unsetAge = tool({ name: "unsetAge", description: "", inputSchema: z.object({ age: z.number() }), execute: ({ age }) => age });
new RollbackToolRegistry().registerRollback(createUser, removeOptional);
// @ts-expect-error
new RollbackToolRegistry().registerRollback(createUser, removeWithReason);
// @ts-expect-error stored as the model wrote it (perhaps "5"); unsetAge would refuse it at rollback time
new RollbackToolRegistry().registerRollback(setAge, unsetAge);
// strategy with schemas: no type arguments needed
export const typed = strategy("typed", { input: z.string(), output: z.number() }, (graph) => {
  const n = graph.node("n", (text: string) => text.length);
  graph.edge(graph.start, n); graph.edge(n, graph.finish);
});
const typedResult = await new AIAgent({ promptExecutor, llmModel: "m", strategy: typed }).run("x");
if (typedResult.status === "completed") same<typeof typedResult.output, number>();
// ---- the default loop, written out, and a tool called from node code
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
    context.setProgress(50, "half way"); context.recordDecision({ decision: "use the first" }); context.require({ environment: { node: ">=20.19" } });
    return String(user.id);
  });
  graph.edge(direct, graph.finish);
});
