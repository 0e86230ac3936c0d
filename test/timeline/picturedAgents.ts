import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  type AgentContext,
  Persistence,
  persistence,
  type PersistenceStorageProvider,
  RollbackToolRegistry,
  storageKey,
  strategy,
  type RetentionPolicy,
  type Strategy,
  tool,
} from "agent-persistence";
import { crashAfter, scriptedModel, SimulatedClock, type ScriptedTurn } from "agent-persistence/testing";
import { z } from "zod";

/** Markup, scripts and ends of scripts, as a hostile model or tool may write them. */
export const hostileText = `</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1">\u2028<!--<script>`;

const signUp = tool({
  name: "signUp",
  description: "Signs a person up.",
  inputSchema: z.object({ name: z.string(), apiKey: z.string().optional(), email: z.string().optional() }),
  effect: "idempotent",
  execute: async ({ name }) => {
    if (name === "Nobody") throw new Error("There is no such person");
    return { id: name.length };
  },
});
const tell = tool({
  name: "tell",
  description: "Sends a mail.",
  inputSchema: z.object({ text: z.string() }),
  effect: "irreversible",
  execute: async ({ text }) => text.length,
});
const tools = [signUp, tell];
const registry = new RollbackToolRegistry().registerRollback(signUp, () => undefined, { effect: "idempotent" });

interface PicturedOptions {
  readonly turns?: readonly ScriptedTurn[];
  readonly strategy?: Strategy<string, string>;
  readonly clock?: SimulatedClock;
  readonly retention?: RetentionPolicy;
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number; readonly totalTokens: number };
}

/** The agent that signs people up. */
export function agentOn(
  storage: PersistenceStorageProvider,
  { turns = [], strategy: graph, clock, retention, usage }: PicturedOptions,
) {
  const model = scriptedModel(turns);
  const execute: typeof model.execute = async (request) => {
    const answer = await model.execute(request);
    if (usage !== undefined) clock?.advance(2_500);
    return usage === undefined ? answer : { ...answer, usage };
  };
  return new AIAgent<string, string>({
    promptExecutor: { execute },
    llmModel: "scripted",
    tools,
    systemPrompt: "You sign people up.",
    ...(graph && { strategy: graph }),
  }).install(Persistence, {
    storage,
    rollbackToolRegistry: registry,
    ...(retention && { retention }),
    clock: clock ?? new SimulatedClock(Date.UTC(2026, 10, 23, 9)),
  });
}

/** Calls that sign people up. */
export const calls = (...names: readonly string[]) =>
  names.map((name) => ({ toolName: "signUp", input: { name, apiKey: "k-1234567890", email: `${name}@example.com` } }));

/** A turn of three calls side by side, one of which fails, and an answer. */
export async function parallelCalls(storage: PersistenceStorageProvider, agentId: string): Promise<void> {
  const turns = [{ text: "I sign three people up.", toolCalls: calls("Alex", "Nobody", "Maria") }, "Two are in."];
  await agentOn(storage, { turns }).run("Sign up three people.", { agentId });
}

/** Two answers of 2.5 seconds each, with their tokens. */
export async function spent(storage: PersistenceStorageProvider, agentId: string): Promise<void> {
  const usage = { inputTokens: 1_000, outputTokens: 200, totalTokens: 1_200 };
  const clock = new SimulatedClock(Date.UTC(2026, 10, 23, 9));
  const turns = [{ text: "I sign Alex up.", toolCalls: calls("Alex") }, "Alex is in."];
  await agentOn(storage, { turns, clock, usage }).run("Sign up Alex.", { agentId });
}

/** An agent that only says something. */
export async function said(storage: PersistenceStorageProvider, agentId: string, text: string): Promise<void> {
  await agentOn(storage, { turns: [text] }).run("Say it.", { agentId });
}

/** A process that dies in the middle, and one that goes on an hour later. */
export async function crash(storage: PersistenceStorageProvider, agentId: string): Promise<void> {
  const clock = new SimulatedClock(Date.UTC(2026, 10, 23, 9));
  const turns = [{ toolCalls: calls("Alex") }, { toolCalls: calls("Daniel") }, "Both are in."];
  const dying = agentOn(crashAfter(storage, 5), { turns, clock });
  await dying.run("Sign up Alex and Daniel.", { agentId }).catch(() => undefined);
  clock.advance(3_600_000);
  await agentOn(storage, { turns, clock }).run("Sign up Alex and Daniel.", { agentId });
}

/** An agent in the middle of its first call, until it is let go. */
export async function running(storage: PersistenceStorageProvider, agentId: string): Promise<() => Promise<void>> {
  let begin = (): void => {};
  let finish = (): void => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const end = new Promise<void>((resolve) => (finish = resolve));
  const graph = strategy<string, string>("slow", (builder) => {
    const slow = builder.node("slow", (_input: string, context: AgentContext) => {
      begin();
      return context.tools.call(wait, {});
    });
    builder.edge(builder.start, slow);
    builder.edge(slow, builder.finish);
  });
  const wait = tool({
    name: "wait",
    description: "Waits.",
    inputSchema: z.object({}),
    effect: "idempotent",
    execute: async () => {
      await end;
      return "over";
    },
  });
  const agent = new AIAgent<string, string>({
    promptExecutor: scriptedModel([]),
    llmModel: "scripted",
    tools: [wait],
    strategy: graph,
  }).install(Persistence, { storage });
  const run = agent.run("Go.", { agentId });
  await begun;
  return async () => {
    finish();
    await run;
  };
}

/** A process that dies while it calls an idempotent tool, and nobody goes on. */
export async function cut(storage: PersistenceStorageProvider, agentId: string): Promise<void> {
  const turns = [{ toolCalls: calls("Alex") }, "Alex is in."];
  await agentOn(crashAfter(storage, 3), { turns })
    .run("Sign up Alex.", { agentId })
    .catch(() => undefined);
}

/** A process that dies while an irreversible tool works. */
export async function doubt(storage: PersistenceStorageProvider, agentId: string): Promise<void> {
  const turns = [{ toolCalls: [{ toolName: "tell", input: { text: "We are open." } }] }, "Told."];
  for (let saves = 3; saves < 6; saves += 1) {
    await agentOn(crashAfter(storage, saves), { turns })
      .run("Tell them.", { agentId })
      .catch(() => undefined);
  }
  await agentOn(storage, { turns })
    .run("Tell them.", { agentId })
    .catch(() => undefined);
}

/** A rollback to before two calls, one of which cannot be reverted, and what came after. */
export async function rollback(storage: PersistenceStorageProvider, agentId: string): Promise<void> {
  const mail = { toolName: "tell", input: { text: "Alex is in." } };
  const first = { text: "I sign Alex up.", toolCalls: calls("Alex") };
  const agent = agentOn(storage, { turns: [first, { text: "Now I tell them.", toolCalls: [mail] }, "Done."] });
  await agent.run("Sign up Alex.", { agentId });
  const durable = persistence(agent).agent(agentId);
  const [, second] = await durable.getCheckpoints();
  await durable.rollbackToCheckpoint(second?.checkpointId ?? "");
  await agentOn(storage, { turns: [first, "Alex is in, and nobody was told."] }).resume({ agentId });
}

/** A rollback that a crash cut off before its first inverse. */
export async function openRollback(storage: PersistenceStorageProvider, agentId: string): Promise<void> {
  const turns = [{ toolCalls: calls("Alex", "Maria") }, "Both are in."];
  await agentOn(storage, { turns }).run("Sign up Alex and Maria.", { agentId });
  const durable = persistence(agentOn(crashAfter(storage, 1), { turns })).agent(agentId);
  const [, second] = await durable.getCheckpoints();
  await durable.rollbackToCheckpoint(second?.checkpointId ?? "").catch(() => undefined);
}

const notes = storageKey("notes", z.array(z.string()));

/** Two branches side by side, joined again. */
export async function branches(storage: PersistenceStorageProvider, agentId: string): Promise<void> {
  const graph = strategy<string, string>("compare", (builder) => {
    const facts = builder.node("facts", (topic: string, context: AgentContext) => {
      context.storage.set(notes, [`${topic} has a name.`]);
      return "one fact";
    });
    const mails = builder.node("mails", async (_topic: string, context: AgentContext) => {
      await context.tools.call(tell, { text: "A branch" });
      return "one mail";
    });
    const both = builder.parallel("both", { facts, mails }, (results) => `${results.facts}, ${results.mails}`);
    builder.edge(builder.start, both);
    builder.edge(both, builder.finish);
  });
  await agentOn(storage, { strategy: graph }).run("Clouds", { agentId });
}

const ask = (prompt: string) => (_input: string, context: AgentContext) =>
  context.requestInput({ prompt, schema: z.string() });
const asking = strategy<string, string>("asking", (builder) => {
  const size = builder.node("size", ask("Which size of shirt?"));
  const color = builder.node("color", ask("Which color?"));
  builder.edge(builder.start, size);
  builder.edge(size, color);
  builder.edge(color, builder.finish);
});

/** A question that was answered two hours later, and one that is open. */
export async function wait(storage: PersistenceStorageProvider, agentId: string): Promise<void> {
  const clock = new SimulatedClock(Date.UTC(2026, 10, 23, 9));
  await agentOn(storage, { strategy: asking, clock }).run("A shirt", { agentId });
  clock.advance(7_200_000);
  await answerWait(storage, agentId, "XL", clock);
}

/** Answers what an agent of {@link wait} asks, and lets it go on. */
export async function answerWait(
  storage: PersistenceStorageProvider,
  agentId: string,
  answer = "red",
  clock = new SimulatedClock(),
): Promise<void> {
  const agent = agentOn(storage, { strategy: asking, clock });
  const durable = persistence(agent).agent(agentId);
  const [request] = await durable.getRequests();
  await durable.answer(request?.requestId ?? "", answer, { by: "kim" });
  await agent.resume({ agentId });
}

/** A storage that gives a value of 10,000 levels, which no run stores: somebody else has written it. */
export async function forged(agentId: string): Promise<PersistenceStorageProvider> {
  const storage = new InMemoryPersistenceStorageProvider();
  await hostile(storage, agentId);
  let deep: unknown = hostileText;
  for (let level = 0; level < 10_000; level += 1) deep = [deep];
  const { log } = storage;
  const read = log.read.bind(log);
  log.read = async function* (id, options) {
    for await (const entry of read(id, options)) {
      const records = entry.records.map((record) => (record.kind === "storage" ? { ...record, value: deep } : record));
      yield { ...entry, records };
    }
  };
  return storage;
}

/** Payloads that try to be more than text. */
export async function hostile(storage: PersistenceStorageProvider, agentId: string): Promise<void> {
  let deep: unknown = hostileText;
  for (let level = 0; level < 990; level += 1) deep = [deep];
  const turns = [{ text: hostileText, toolCalls: calls(hostileText) }, `${hostileText}${"long ".repeat(1_000_000)}`];
  const graph = strategy<string, string>("hostile", (builder) => {
    const keep = builder.node("keep", (input: string, context: AgentContext) => {
      context.storage.set(storageKey("deep", z.unknown()), deep);
      return input;
    });
    builder.edge(builder.start, keep);
    builder.edge(keep, builder.finish);
  });
  await agentOn(storage, { turns }).run(hostileText, { agentId });
  await agentOn(storage, { strategy: graph }).run(hostileText, { agentId: `${agentId} deep` });
}
