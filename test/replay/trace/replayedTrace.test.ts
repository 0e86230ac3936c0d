import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  strategy,
  tool,
  type AgentContext,
  type RunResult,
} from "agent-persistence";
import { compareRuns, readRunTrace, replayRun, type RunTrace } from "agent-persistence/replay";
import { expect, it } from "vitest";
import { z } from "zod";
import { importAgent } from "../importProgram.ts";

const at = new Date("2026-01-02T03:04:05.000Z");

class Point {
  readonly x = 1;
}

const pay = tool({
  name: "pay",
  description: "",
  inputSchema: z.object({ cents: z.int() }),
  needsApproval: true,
  execute: ({ cents }) => ({ at, cents: BigInt(cents), rest: undefined, tags: new Map([["a", new Set([1])]]) }),
});

const fail = tool({
  name: "fail",
  description: "",
  inputSchema: z.object({}),
  execute: () => {
    throw new RangeError("out of money");
  },
});

type Body = (input: string, context: AgentContext) => Promise<unknown>;

function agentOf(storage: InMemoryPersistenceStorageProvider, body: Body, busy = 0) {
  let failures = busy;
  const graph = strategy<string, unknown>("s", (g) => {
    const work = g.node("work", body);
    const last = g.node("last", (value: unknown) => value);
    g.edge(g.start, work);
    g.edge(work, last);
    g.edge(last, g.finish);
  });
  return new AIAgent({
    id: "a",
    llmModel: "small",
    tools: [pay, fail],
    strategy: graph,
    promptExecutor: {
      execute: async () => {
        if (failures-- > 0) throw Object.assign(new Error("busy"), { status: 503 });
        const usage = { inputTokens: 3, outputTokens: 2, totalTokens: 5, inputTokenDetails: { cacheReadTokens: 1 } };
        return { message: { role: "assistant", content: "Hi." }, usage, finishReason: "stop" };
      },
    },
    modelRetry: false,
  }).install(Persistence, { storage, sleepInProcessMs: 0 });
}

const waitsFor = (result: RunResult<unknown> | undefined) => (result?.status === "waiting" ? result.requests : []);

/** Runs a node until it needs no further replies, and returns the stored trace and the trace of an exact replay. */
async function tracesOf(
  name: string,
  body: Body,
  reply?: (id: string, answer: ReturnType<typeof durableOf>) => Promise<void>,
) {
  const storage = new InMemoryPersistenceStorageProvider();
  const agent = agentOf(storage, body, name.includes("model") ? 1 : 0);
  let result: RunResult<unknown> | undefined = await agent.run("go").catch(() => undefined);
  while (reply && waitsFor(result).length > 0) {
    for (const { requestId } of waitsFor(result)) await reply(requestId, durableOf(agent));
    result = await agent.resume();
  }
  return bothTraces(storage, agentOf(storage, body));
}

const durableOf = (agent: AIAgent<string, unknown>) => persistence(agent).agent("a");

async function bothTraces(storage: InMemoryPersistenceStorageProvider, agent: AIAgent<never, unknown>) {
  const agentId = storage ? ((await storage.log.list()[Symbol.asyncIterator]().next()).value?.agentId ?? "a") : "a";
  const { trace, divergence } = await replayRun(agent, { storage, agentId });
  expect(divergence).toBeUndefined();
  return { stored: await readRunTrace(storage, { agentId }), replayed: trace };
}

/** Leaves out what a replay cannot know: times, checkpoints and the numbers of messages. */
function known({ startedAt: _startedAt, durationMs: _durationMs, checkpointId: _checkpointId, ...run }: RunTrace) {
  return {
    ...run,
    visits: run.visits.map(({ startedAt: _at, durationMs: _took, checkpointId: _id, messages, ...visit }) => ({
      ...visit,
      messages: messages.added.map(({ message }) => message),
    })),
  };
}

const bodies: readonly (readonly [string, Body, ((id: string, a: ReturnType<typeof durableOf>) => Promise<void>)?])[] =
  [
    [
      "rich values in outputs and messages",
      async (_input, { llm }) => {
        llm.append(await llm.request());
        return { at, set: new Set([at]), none: undefined, big: 5n, bytes: new Uint8Array(3) };
      },
    ],
    ["an approved call", (_i, { tools }) => tools.call(pay, { cents: 3 }), (id, a) => a.answer(id, { approved: true })],
    [
      "a rejected call",
      (_i, { tools }) => tools.call(pay, { cents: 3 }).catch(({ reason }: { readonly reason: string }) => reason),
      (id, a) => a.reject(id, "too much"),
    ],
    ["a failed call", (_i, { tools }) => tools.call(fail, {}).catch((error: unknown) => String(error))],
    [
      "an answer",
      (_i, context) => context.requestInput({ prompt: "When?", schema: z.date() }),
      (id, a) => a.answer(id, at),
    ],
    [
      "a rejected request",
      (_i, context) => context.requestInput({ prompt: "When?", schema: z.date() }).catch(String),
      (id, a) => a.reject(id, "never"),
    ],
    ["an event", (_i, context) => context.receive("paid", { schema: z.date() }), (_id, a) => a.send("paid", at)],
    [
      "a failed model request",
      async (_input, { llm }) => {
        await llm.request().catch(() => undefined);
        llm.append(await llm.request());
      },
    ],
    ["no output", async () => undefined],
    ["a sleep", async (_i, context) => context.sleep(60_000)],
    ["an open request", (_i, context) => context.requestInput({ prompt: "When?", schema: z.date() })],
    ["an open approval", (_i, { tools }) => tools.call(pay, { cents: 3 })],
    [
      "a lost race",
      (_i, context) =>
        Promise.race([context.requestInput({ prompt: "When?", schema: z.date() }), context.tools.call(fail, {})]).catch(
          String,
        ),
    ],
  ];

it.each(bodies.map(([name, body, reply]) => ({ name, body, reply })))(
  "shows $name in the trace of a replay as in the stored one, as plain JSON",
  async ({ name, body, reply }) => {
    const { stored, replayed } = await tracesOf(name, body, reply);
    expect(JSON.parse(JSON.stringify(replayed))).toEqual(replayed);
    expect(JSON.parse(JSON.stringify(stored))).toEqual(stored);
    expect(known(replayed)).toEqual(known(stored));
    expect(compareRuns(stored, replayed).isSame).toBe(true);
  },
);

it("shows a run with branches, waits and a rollback as the stored one", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const agent = importAgent(storage);
  const durable = persistence(agent).agent("import");
  const proceed = async () => {
    for (const { requestId } of waitsFor(await agent.resume())) await durable.answer(requestId, "yes");
    await agent.resume();
  };
  await agent.run("go");
  await proceed();
  const target = (await durable.getCheckpoints()).find(({ nodeId }) => nodeId === "check");
  await durable.rollbackToCheckpoint(target?.checkpointId ?? "");
  await proceed();
  const { stored, replayed } = await bothTraces(storage, importAgent(storage));
  expect(known(replayed)).toEqual(known(stored));
});

it("shows approvals, rich values and the code of an error in a counterfactual replay", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const agent = agentOf(storage, (_input, { tools }) => tools.call(pay, { cents: 3 }));
  for (const { requestId } of waitsFor(await agent.run("go")))
    await durableOf(agent).answer(requestId, { approved: true });
  await agent.resume();
  const changed: Body = async (_input, { tools }) => {
    await tools.call(pay, { cents: 3 });
    await tools.call(pay, { cents: 4 });
    throw Object.assign(new RangeError("no"), { point: new Point() });
  };
  const options = { storage, agentId: "a", onUnrecordedCall: () => at } as const;
  const { trace } = await replayRun(agentOf(storage, changed), options);
  expect(JSON.parse(JSON.stringify(trace))).toEqual(trace);
  expect(trace).toMatchObject({
    status: "failed",
    nextNode: "work",
    error: { name: "RangeError", message: "no" },
    visits: [{ calls: [{ output: { at: at.toISOString(), cents: "3" } }, { output: at.toISOString() }] }],
  });
  expect(trace.visits[0]?.waits).toEqual([
    { kind: "approval", tool: "pay", state: "answered", prompt: expect.any(String), answer: { approved: true } },
  ]);
});

const saves: readonly (readonly [string, Body])[] = [
  [
    "nothing",
    async (input, context) => {
      await persistence(context).createCheckpoint({ checkpointId: "in" });
      return input;
    },
  ],
  [
    "a call",
    async (input, context) => {
      await persistence(context).createCheckpoint({ checkpointId: "in" });
      await context.tools.call(fail, {}).catch(String);
      return input;
    },
  ],
];

it.each(saves.map(([name, body]) => ({ name, body })))(
  "shows a node once after a rollback to a checkpoint within the node, which $name follows",
  async ({ body }) => {
    const storage = new InMemoryPersistenceStorageProvider();
    const agent = agentOf(storage, body);
    await agent.run("go");
    await durableOf(agent).rollbackToCheckpoint("in");
    await agent.resume();
    const { stored, replayed } = await bothTraces(storage, agentOf(storage, body));
    expect(known(replayed).visits.map(({ node }) => node)).toEqual(["work", "last"]);
    expect(known(replayed)).toEqual(known(stored));
  },
);
