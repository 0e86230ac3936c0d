import {
  callModel,
  callTools,
  hasToolCalls,
  persistence,
  strategy,
  textOf,
  tool,
  type AgentContext,
  type Message,
  type OlderContent,
  type PersistenceEvent,
  type PromptExecutor,
  type TrimmingPolicy,
} from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { summarizePlainly, resultsOf } from "../../../src/persistence/trimming/trimHistory.ts";
import { durableAgent, Stopped } from "../support/durableAgent.ts";
import { checkpointsOf, latestOf, recordsOf } from "../support/stored.ts";
import { logStorages, memory } from "../support/storages.ts";

const look = tool({
  name: "look",
  description: "",
  inputSchema: z.object({ at: z.number() }),
  effect: "none",
  execute: ({ at }) => `seen ${at} ${"x".repeat(300)}`,
});

const looking = strategy<string, string>("looking", (g) => {
  const ask = g.node("callModel", callModel);
  const call = g.node("callTools", callTools);
  g.edge(g.start, ask);
  g.edge(ask, call, { when: hasToolCalls });
  g.edge(call, ask);
  g.edge(ask, g.finish, { when: (message) => !hasToolCalls(message), map: textOf });
});
const turns = (count: number) => [
  ...Array.from({ length: count }, (_, at) => ({ toolCalls: [{ toolName: "look", input: { at } }] })),
  "done",
];
/** The scripted model tells by the history which turn is next; one that is trimmed does not say. */
function countingModel(count: number): PromptExecutor {
  let at = 0;
  return {
    execute: async () => {
      const part = { type: "tool-call", toolCallId: "call", toolName: "look", input: { at } } as const;
      return { message: { role: "assistant", content: at++ < count ? [part] : "done" } };
    },
  };
}
const outputs = (messages: readonly Message[]) => messages.flatMap(resultsOf).map(({ output }) => String(output));
const isWhole = (output: string) => output.startsWith("seen");

describe.each(logStorages)("$name: trimming", (storage) => {
  const agentOn = async (count: number, trimming: TrimmingPolicy, more: object = {}) => {
    const opened = await storage.open();
    return {
      opened,
      agent: durableAgent(looking, opened(), {
        tools: [look],
        model: countingModel(count),
        trimming,
        maxIterations: 1_000,
        ...more,
      }),
    };
  };

  it("keeps the last 5 tool outputs and 50 messages, and stores the originals", async () => {
    const events: PersistenceEvent[] = [];
    const { agent } = await agentOn(40, {}, { onEvent: (event: PersistenceEvent) => void events.push(event) });
    const untrimmed = durableAgent(looking, (await storage.open())(), {
      tools: [look],
      model: countingModel(40),
      maxIterations: 1_000,
    });
    await agent.run("go", { runId: "r" });
    await untrimmed.run("go", { runId: "r" });
    const durable = persistence(agent).agent();
    const now = await durable.getMessages();
    expect(now.length).toBeGreaterThanOrEqual(51);
    expect(now.length).toBeLessThanOrEqual(52);
    expect(now).toEqual((await latestOf(agent)).messageHistory);
    expect(outputs(now).map(isWhole).slice(-6)).toEqual([false, true, true, true, true, true]);
    expect(outputs(now).filter(isWhole)).toHaveLength(5);
    const all = await persistence(untrimmed).agent().getMessages();
    expect(await durable.getMessages({ original: true })).toEqual(all);
    expect(all.length).toBe(82);
    expect(events.filter(({ type }) => type === "history_trimmed").length).toBeGreaterThan(30);
    // Each checkpoint has what was live when it was made.
    for (const { messageHistory } of await checkpointsOf(agent)) expect(messageHistory.length).toBeLessThanOrEqual(53);
  });

  it("is undone by a rollback to an earlier checkpoint", async () => {
    const { agent } = await agentOn(12, { toolOutputs: 2, messages: 8 });
    await agent.run("go");
    const early = (await checkpointsOf(agent))[4];
    expect(outputs(early?.messageHistory ?? []).every(isWhole)).toBe(true);
    expect(early?.messageHistory[0]).toMatchObject({ role: "user", content: "go" });
    await persistence(agent)
      .agent()
      .rollbackToCheckpoint(early?.checkpointId ?? "");
    expect((await latestOf(agent)).messageHistory).toEqual(early?.messageHistory);
  });

  it("keeps the originals unchanged through several runs and repeated pruning", async () => {
    const { agent } = await agentOn(60, { toolOutputs: 3, messages: 10 });
    const durable = persistence(agent).agent();
    await agent.run("go");
    for (const round of [1, 2]) {
      const [originals, live] = [await durable.getMessages({ original: true }), await durable.getMessages()];
      expect(originals.length).toBeGreaterThan(120);
      await persistence(agent).prune({ policy: { maxCheckpoints: 5 } });
      expect(await durable.getMessages({ original: true })).toEqual(originals);
      expect(await durable.getMessages()).toEqual(live);
      await agent.run(`again ${round}`, { history: "continue" });
    }
  });

  it("keeps the originals of a kept checkpoint when other checkpoints are pruned", async () => {
    const { agent } = await agentOn(24, { toolOutputs: 2, messages: 8 });
    await agent.run("go");
    const before = new Map((await checkpointsOf(agent)).map((data) => [data.version, data.messageHistory]));
    await persistence(agent).prune({ policy: { maxCheckpoints: 6 } });
    const kept = await checkpointsOf(agent);
    expect(kept.length).toBeLessThan(before.size / 4);
    for (const { version, messageHistory } of kept) expect(messageHistory).toEqual(before.get(version));
    const whole = new Set(kept.flatMap(({ messageHistory }) => outputs(messageHistory).filter(isWhole)));
    const originals = await persistence(agent).agent().getMessages({ original: true });
    expect(whole.size).toBeGreaterThan(2);
    expect(outputs(originals)).toEqual(expect.arrayContaining([...whole]));
    for (const { checkpointId, version } of kept.toReversed()) {
      await persistence(agent).agent().rollbackToCheckpoint(checkpointId);
      expect((await latestOf(agent)).messageHistory).toEqual(before.get(version));
    }
  });

  it("continues after a crash with the agent's state, and requests no summary twice", async () => {
    const opened = await storage.open();
    const asked: string[] = [];
    const trimming: TrimmingPolicy = {
      toolOutputs: 1,
      summarize: async (older) => {
        asked.push(older.kind === "tool_output" ? older.toolCallId : "messages");
        return "short";
      },
    };
    const controller = new AbortController();
    const stopping = tool({
      name: "look",
      description: "",
      inputSchema: z.object({ at: z.number() }),
      effect: "none",
      execute: ({ at }) => {
        if (at === 3) controller.abort(new Stopped("in the fourth call"));
        return `seen ${at}`;
      },
    });
    const agent = () => durableAgent(looking, opened(), { tools: [stopping], turns: turns(5), trimming });
    const { signal } = controller;
    await expect(agent().run("go", { runId: "r", signal })).rejects.toBeInstanceOf(Stopped);
    await agent().run("go", { runId: "r" });
    expect(new Set(asked).size).toBe(asked.length);
    expect(asked).toHaveLength(4);
    expect(outputs(await persistence(agent()).agent().getMessages())).toEqual([
      "short",
      "short",
      "short",
      "short",
      "seen 4",
    ]);
  });

  it("loses no checkpoint if a summarizer fails, and reports the failure", async () => {
    const events: PersistenceEvent[] = [];
    let failures = 3;
    const summarize = (older: OlderContent) => {
      if (failures-- > 0) throw new Stopped("no summary");
      return `short ${older.kind}`;
    };
    const { agent } = await agentOn(
      6,
      { toolOutputs: 1, summarize },
      { onEvent: (event: PersistenceEvent) => void events.push(event) },
    );
    expect(await agent.run("go")).toMatchObject({ status: "completed", output: "done" });
    expect(events.filter(({ type }) => type === "trimming_failed")).toMatchObject(
      Array.from({ length: 3 }, () => ({ content: "tool_output", error: expect.any(Stopped) as unknown })),
    );
    expect(await checkpointsOf(agent)).toHaveLength(14);
    expect(outputs((await latestOf(agent)).messageHistory).filter((output) => !isWhole(output))).toHaveLength(5);
  });

  it("treats a summary that is not text as a failure", async () => {
    const events: PersistenceEvent[] = [];
    const summarize = () => 7 as unknown as string;
    const { agent } = await agentOn(
      2,
      { toolOutputs: 1, summarize },
      { onEvent: (event: PersistenceEvent) => void events.push(event) },
    );
    await agent.run("go");
    expect(events.find(({ type }) => type === "trimming_failed")).toMatchObject({
      error: expect.any(TypeError) as unknown,
    });
    expect(outputs((await latestOf(agent)).messageHistory).every(isWhole)).toBe(true);
  });
});

it("trimming stores little more than the messages if one output is shortened in each of many steps", async () => {
  const opened = await memory.open();
  const steps = 600;
  const growing = strategy<string, string>("growing", (g) => {
    const step = g.node("step", (at: number, context) => {
      const toolCallId = `call ${at}`;
      context.llm.append(
        { role: "assistant", content: [{ type: "tool-call", toolCallId, toolName: "look", input: { at } }] },
        { role: "tool", content: [{ type: "tool-result", toolCallId, toolName: "look", output: "x".repeat(2_000) }] },
      );
      return at + 1;
    });
    g.edge(g.start, step, { map: () => 0 });
    g.edge(step, step, { when: (at) => at < steps });
    g.edge(step, g.finish, { when: (at) => at === steps, map: String });
  });
  const agent = durableAgent(growing, opened(), { trimming: { messages: Infinity }, maxIterations: 5_000 });
  await agent.run("go");
  const stored = JSON.stringify(await recordsOf(opened())).length;
  const messages = JSON.stringify(await persistence(agent).agent().getMessages({ original: true })).length;
  expect(stored / messages).toBeLessThan(1.3);
  expect(
    outputs(await persistence(agent).agent().getMessages()).filter((output) => output.startsWith("xxx")),
  ).toHaveLength(5);
});

describe("a history with the same message several times", () => {
  it.each([1, 2, 3, 4])("is stored as the run has it, with %i messages kept", async (messages) => {
    let inRun: readonly Message[] = [];
    const graph = strategy<string, string>("repeating", (g) => {
      const write = g.node("write", async (input: string, { llm }: AgentContext) => {
        const repeated: Message = { role: "user", content: "again" };
        llm.append({ role: "system", content: "rules" }, { role: "user", content: "1" }, repeated);
        const [kept = repeated] = llm.messages.slice(-1);
        llm.append({ role: "user", content: "2" }, kept, kept, { role: "user", content: "3" });
        return input;
      });
      const read = g.node("read", async (input: string, { llm }: AgentContext) => {
        inRun = llm.messages;
        return input;
      });
      g.edge(g.start, write);
      g.edge(write, read);
      g.edge(read, g.finish);
    });
    const agent = durableAgent(graph, await memory.open().then((open) => open()), { trimming: { messages } });
    expect(await agent.run("go")).toMatchObject({ status: "completed" });
    expect(inRun).toHaveLength(messages + 2);
    const stored = persistence(agent).agent("a");
    expect(await stored.getMessages()).toEqual(inRun);
    const original = await stored.getMessages({ original: true });
    expect(original.map(({ content }) => content)).toEqual(["rules", "1", "again", "2", "again", "again", "3"]);
  });
});

describe("the built-in summarizer", () => {
  const turn = (at: number): readonly Message[] => [
    { role: "user", content: `question ${at} ${"x".repeat(100)}` },
    { role: "assistant", content: `answer ${at}` },
  ];

  it("keeps the number, the oldest and the newest of the messages that it summarized before", () => {
    let summary = summarizePlainly({ kind: "messages", messages: [...turn(0), ...turn(1)] });
    for (let at = 2; at < 500; at++)
      summary = summarizePlainly({ kind: "messages", messages: [{ role: "user", content: summary }, ...turn(at)] });
    expect(summary).toMatch(
      /^\[1000 earlier messages, shortened\]\nuser: question 0 x+…\nassistant: answer 0\nuser: q/,
    );
    expect(summary).toContain("\n…\n");
    expect(summary).toMatch(/user: question 499 x+…\nassistant: answer 499$/);
    expect(summary.length).toBeLessThan(2_100);
  });

  it("cuts between characters", () => {
    const messages: Message[] = Array.from({ length: 100 }, () => ({ role: "user", content: "😀".repeat(100) }));
    let summary = summarizePlainly({ kind: "messages", messages });
    for (let more = 0; more < 5; more++)
      summary = summarizePlainly({
        kind: "messages",
        messages: [{ role: "user", content: summary }, ...messages.slice(more)],
      });
    expect(summary).not.toMatch(/\p{Surrogate}/u);
  });
});
