import {
  AIAgent,
  callModel,
  callTools,
  type DurableAgent,
  hasToolCalls,
  type AgentContext,
  InMemoryPersistenceStorageProvider,
  persistence,
  Persistence,
  type PersistenceEvent,
  RollbackToolRegistry,
  type RunResult,
  storageKey,
  strategy,
  textOf,
  tool,
} from "agent-persistence";
import type { LogPersistenceStorageProvider, RecordLog } from "agent-persistence/storage";
import { TaskManager } from "agent-persistence/task";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate } from "../../agent/gate.ts";
import { asking, requestsOf } from "../support/asking.ts";
import { called, chain } from "../support/calledAgents.ts";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { logStorages, RowsProvider } from "../support/storages.ts";
import { readPaced } from "../../../src/storage/readEntries.ts";
import { World } from "../support/World.ts";

const large = storageKey("large", z.string());
const question = { prompt: "ok?", schema: z.boolean() };

const entriesOf = (storage: LogPersistenceStorageProvider, agentId: string) => readPaced(storage.log, agentId);

/** A tool that acts once somebody has approved it. */
function paying(pay: (toolCallId: string) => void) {
  return tool({
    name: "pay",
    description: "",
    inputSchema: z.object({ cents: z.int() }),
    effect: "irreversible",
    needsApproval: () => ({ prompt: "pay?" }),
    execute: ({ cents }, { toolCallId }) => {
      pay(toolCallId);
      return `paid ${cents}`;
    },
  });
}

/** Something happens before the lines of a log are read, or after. */
function appendsWith(
  log: RecordLog,
  { before, after }: Partial<Record<"before" | "after", () => Promise<unknown>>>,
): void {
  const appendsOf = log.encodedAppends?.bind(log);
  const encodedAppends: RecordLog["encodedAppends"] = async function* (...wanted) {
    await before?.();
    yield* appendsOf?.(...wanted) ?? [];
    await after?.();
  };
  Object.assign(log, { encodedAppends });
}

const onlyRequest = (result: RunResult<unknown>) => {
  const [request, ...others] = requestsOf(result);
  if (!request || others.length > 0) throw new Error(`${others.length + 1} requests`);
  return request;
};

describe.each(logStorages)("$name: a fork", (storage) => {
  it("of a waiting agent waits under another request id, and both are decided independently", async () => {
    const opened = await storage.open();
    const agent = () =>
      durableAgent(
        asking(async (input, context) => `${input} ${await context.requestInput(question)}`),
        opened(),
      );
    const asked = onlyRequest(await agent().run("go"));
    const before = await entriesOf(opened(), "a");
    const fork = await persistence(agent()).agent("a").fork("b");
    expect(await entriesOf(opened(), "a")).toEqual(before);
    expect((await entriesOf(opened(), "b")).slice(0, before.length)).toEqual(before);
    const [request, ...others] = await fork.getRequests();
    expect(others).toEqual([]);
    expect({ ...request, requestId: "" }).toEqual({ ...asked, requestId: "" });
    expect(request?.requestId).not.toBe(asked.requestId);
    await expect(fork.answer(asked.requestId, true)).rejects.toMatchObject({ code: "request_not_found" });
    await fork.answer(request?.requestId ?? "", false);
    expect(await agent().resume({ agentId: "b" })).toMatchObject({ output: "go false" });
    expect(await persistence(agent()).agent("a").getRequests()).toEqual([asked]);
    expect(await agent().resume({ answers: { [asked.requestId]: true } })).toMatchObject({ output: "go true" });
  });

  it("makes a call that awaits approval under another id, whether a model or code made it", async () => {
    const loop = strategy<string, string>("loop", (graph) => {
      const ask = graph.node("callModel", callModel);
      const act = graph.node("callTools", callTools);
      graph.edge(graph.start, ask);
      graph.edge(ask, act, { when: hasToolCalls });
      graph.edge(act, ask);
      graph.edge(ask, graph.finish, { when: (message) => !hasToolCalls(message), map: textOf });
    });
    const inOne = asking(async (_, { llm, tools }) => {
      const [result] = (await tools.execute(await llm.request())).content;
      return String(typeof result === "object" && result.type === "tool-result" ? result.output : "");
    });
    let paid: string[] = [];
    const pay = paying((id) => paid.push(id));
    const byCode = asking(async (_, { tools }) => tools.call(pay, { cents: 5 }));
    for (const built of [loop, inOne, byCode]) {
      paid = [];
      const opened = await storage.open();
      const turns = [{ toolCalls: [{ toolName: "pay", input: { cents: 5 } }] }, "paid 5"];
      const agent = () => durableAgent(built, opened(), { tools: [pay], turns });
      const asked = onlyRequest(await agent().run("go"));
      const fork = await persistence(agent()).agent("a").fork("b");
      const forks = [fork, await fork.fork("c")];
      const requests = await Promise.all(forks.map(async (each) => (await each.getRequests())[0]));
      for (const [index, each] of forks.entries()) {
        await each.answer(requests[index]?.requestId ?? "", { approved: true });
        expect(await agent().resume({ agentId: each.agentId })).toMatchObject({ output: "paid 5" });
      }
      expect(await agent().resume({ answers: { [asked.requestId]: { approved: true } } })).toMatchObject({
        output: "paid 5",
      });
      const ids = [...requests, asked].map((each) => (each?.kind === "approval" ? each.toolCallId : ""));
      expect(paid).toEqual(ids);
      expect(new Set(paid).size).toBe(3);
    }
  });

  it("can roll back past its origin with a call that awaited approval, without a second request", async () => {
    const opened = await storage.open();
    const pay = paying(() => undefined);
    let isAsked = (): void => undefined;
    const asked = new Promise<void>((resolve) => (isAsked = resolve));
    const built = strategy<string, string>("beside", (graph) => {
      const ask = graph.node("ask", (_: string, { tools }) => tools.call(pay, { cents: 5 }));
      const work = graph.subgraph<string, string>("work", (inner) => {
        const one = inner.node("one", (text: string) => asked.then(() => text));
        const two = inner.node("two", (text: string) => text);
        inner.edge(inner.start, one);
        inner.edge(one, two);
        inner.edge(two, inner.finish);
      });
      const both = graph.parallel("both", { ask, work }, ({ ask: paid }) => paid);
      graph.edge(graph.start, both);
      graph.edge(both, graph.finish);
    });
    const clock = new SimulatedClock();
    const onEvent = ({ type }: PersistenceEvent) => {
      if (type === "request_opened") isAsked();
    };
    const agent = () => durableAgent(built, opened(), { tools: [pay], clock, onEvent });
    const { askedAt } = onlyRequest(await agent().run("go"));
    const checkpoints = await persistence(agent()).agent("a").getCheckpoints();
    const checkpointId = checkpoints.find(({ nodeId }) => nodeId === "work/two")?.checkpointId ?? "none";
    await (await persistence(agent()).agent("a").fork("b")).fork("c");
    clock.advance(1_000);
    for (const agentId of ["a", "b", "c"])
      expect(onlyRequest(await agent().resume({ agentId, checkpointId }))).toMatchObject({ askedAt });
  });

  it("replays a rejection to the model, keeps the next request, and repeats no call", async () => {
    const world = new World();
    const book = world.adder("book");
    const pay = paying(() => undefined);
    const built = asking(async (_, { llm, tools }) => {
      for (let turn = 0; turn < 3; turn++) {
        const answer = await llm.request();
        llm.append(answer, await tools.execute(answer));
      }
      return "done";
    });
    const turns = [1, 2, 3].map((cents) => ({
      toolCalls: [
        { toolName: "book", input: { item: `${cents}` } },
        { toolName: "pay", input: { cents } },
      ],
    }));
    const opened = await storage.open();
    const agent = () => durableAgent(built, opened(), { tools: [book, pay], turns });
    await persistence(agent())
      .agent("a")
      .reject(onlyRequest(await agent().run("go")).requestId, "no");
    await agent().resume();
    await persistence(agent()).agent("a").fork("b");
    for (const agentId of ["a", "b"]) {
      const [request] = await persistence(agent()).agent(agentId).getRequests();
      const next = await agent().resume({ agentId, answers: { [request?.requestId ?? ""]: { approved: true } } });
      expect(onlyRequest(next)).toMatchObject({ input: { cents: 3 } });
    }
    expect(world.items).toEqual(["1", "2", "3", "3"]);
  });

  it("continues a waiting called agent and a waiting tool without repeating their calls", async () => {
    const world = new World();
    const book = world.adder("book");
    const research = chain("research", {
      gather: async (topic, context) => {
        await context.tools.call(book, { item: topic });
        return topic;
      },
      check: async (topic, context) => `${topic} ${await context.requestInput(question)}`,
    });
    const ask = called("research", research, { config: { tools: [book] } });
    const asks = tool({
      name: "asks",
      description: "",
      inputSchema: z.object({}),
      execute: async (_, { context }) => {
        await context.tools.call(book, { item: "inner" });
        return context.requestInput({ prompt: "which?", schema: z.string() });
      },
    });
    const built = chain("chief", {
      lead: async (_, context) => {
        const [one, two] = await Promise.all([context.tools.call(ask, { topic: "x" }), context.tools.call(asks, {})]);
        return `${one} ${two}`;
      },
    });
    const opened = await storage.open();
    const agent = () => durableAgent(built, opened(), { tools: [ask, asks, book] });
    await agent().run("go");
    const fork = await persistence(agent()).agent("a").fork("b");
    const again = await persistence(agent()).agent("b").fork("c");
    for (const each of [fork, again]) {
      const requests = await each.getRequests();
      expect(requests).toMatchObject([{ prompt: "which?" }, { prompt: "ok?", agentPath: ["research"] }]);
      for (const { requestId, prompt } of requests) await each.answer(requestId, prompt === "ok?" ? true : "left");
      expect(await agent().resume({ agentId: each.agentId })).toMatchObject({ output: "x true left" });
    }
    expect(world.items).toEqual(["inner", "x"]);
  });

  it("of a running agent is paused, replays finished calls, and makes the unfinished call again", async () => {
    const world = new World();
    const [book, slow] = [world.adder("book"), gate<void>()];
    const began = gate<void>();
    const ship = tool({
      name: "ship",
      description: "",
      inputSchema: z.object({ item: z.string() }),
      execute: async ({ item }, { toolCallId }) => {
        began.open();
        await slow.opened;
        return world.add(item, { toolCallId }, "ship");
      },
    });
    const built = asking(async (_, { tools }) => {
      await tools.call(book, { item: "one" });
      await tools.call(ship, { item: "two" });
      return "done";
    });
    const opened = await storage.open();
    const [provider, agent] = [opened(), () => durableAgent(built, provider, { tools: [book, ship] })];
    const running = agent().run("go");
    await began.opened;
    const fork = await persistence(agent()).agent("a").fork("b");
    expect(await fork.getToolCallsInDoubt()).toEqual([]);
    expect(await persistence(agent()).agent("a").getToolCallsInDoubt()).toHaveLength(1);
    const listed = [];
    for await (const { status, agentId } of persistence(agent()).unfinished()) listed.push(`${agentId} ${status}`);
    expect(listed).toContain("b paused");
    slow.open();
    expect(await running).toMatchObject({ output: "done" });
    expect(await agent().resume({ agentId: "b" })).toMatchObject({ output: "done" });
    expect(world.items).toEqual(["one", "two", "two"]);
  });

  it("of a run that failed at a call is failed, and makes the call under another id", async () => {
    const world = new World();
    const fault = new Fault();
    const ship = tool({
      name: "ship",
      description: "",
      inputSchema: z.object({}),
      execute: (_, { toolCallId }) => {
        world.executed.push(toolCallId);
        fault.strike();
        return "shipped";
      },
    });
    const built = asking(async (_, { tools }) => tools.call(ship, {}));
    const opened = await storage.open();
    const agent = () => durableAgent(built, opened(), { tools: [ship] });
    await expect(agent().run("go")).rejects.toMatchObject({ code: "tool_failed" });
    const fork = await persistence(agent()).agent("a").fork("b");
    const listed = [];
    for await (const { status } of persistence(agent()).unfinished({ includeFailed: true })) listed.push(status);
    expect(listed).toEqual(["failed", "failed"]);
    await expect(agent().resume({ agentId: fork.agentId })).rejects.toMatchObject({ code: "tool_failed" });
    fault.repair();
    expect(await agent().resume({ agentId: fork.agentId })).toMatchObject({ output: "shipped" });
    expect(await agent().resume()).toMatchObject({ output: "shipped" });
    const [first, second, third, fourth] = world.executed;
    expect([second, fourth]).toEqual([third, first]);
    expect(first).not.toBe(second);
  });

  it("of a completed agent keeps result and history, reverts no call, and outlives the agent", async () => {
    const world = new World();
    const book = world.adder("book");
    const registry = new RollbackToolRegistry().registerRollback(book, ({ item }, { toolCallId }) =>
      world.remove(toolCallId, item),
    );
    const built = asking(async (input, { tools, llm }) => {
      llm.append({ role: "user", content: input });
      await tools.call(book, { item: input });
      return input;
    });
    const opened = await storage.open();
    const agent = () => durableAgent(built, opened(), { tools: [book], registry });
    const { runId } = await agent().run("go");
    const [first, ...rest] = await persistence(agent()).agent("a").getCheckpoints();
    const fork = await persistence(agent()).agent("a").fork("b");
    expect((await fork.getCheckpoints()).map((each) => ({ ...each, agentId: "a" }))).toEqual(
      JSON.parse(JSON.stringify([first, ...rest])),
    );
    await persistence(agent()).deleteAgent("a");
    expect(await agent().resume({ agentId: "b" })).toMatchObject({ output: "go", runId });
    expect(await agent().run("on", { agentId: "b", history: "continue" })).toMatchObject({ output: "on" });
    expect(await fork.getMessages()).toMatchObject([{ content: "go" }, { content: "on" }]);
    const report = await fork.rollbackToCheckpoint(first?.checkpointId ?? "");
    expect(report.reverted).toMatchObject([{ input: { item: "on" } }]);
    expect(report.skipped).toMatchObject([{ input: { item: "go" }, owner: "a" }]);
    expect(world.items).toEqual(["go"]);
    expect(await agent().resume({ agentId: "b" })).toMatchObject({ output: "go" });
    expect(world.items).toEqual(["go", "go"]);
  });

  it("of a task that has not started is a separate queued task", async () => {
    const opened = await storage.open();
    const agent = () =>
      durableAgent(
        asking(async (input) => input),
        opened(),
      );
    const tasks = new TaskManager({ storage: opened(), clock: new SimulatedClock() });
    await tasks.create({ taskId: "a", taskName: "n", inputRequest: "in" });
    await persistence(agent()).agent("a").fork("b");
    expect((await tasks.get("b"))?.status).toBe("queued");
    expect(await agent().resume({ agentId: "b" })).toMatchObject({ output: "in" });
    expect((await tasks.get("a"))?.status).toBe("queued");
  });

  it("of an agent in a rollback continues from the target and leaves the calls to the agent", async () => {
    const world = new World();
    const [book, fault] = [world.adder("book"), new Fault()];
    const registry = new RollbackToolRegistry().registerRollback(book, ({ item }, { toolCallId }) => {
      fault.strike();
      world.remove(toolCallId, item);
    });
    const built = chain("two", {
      one: async (text, { tools }) => {
        await tools.call(book, { item: "one" });
        return text;
      },
      two: async (text, { tools }) => {
        await tools.call(book, { item: "two" });
        throw new Error(text);
      },
    });
    const opened = await storage.open();
    const agent = () => durableAgent(built, opened(), { tools: [book], registry });
    await expect(agent().run("stop")).rejects.toThrow("stop");
    const durable = persistence(agent()).agent("a");
    const [first] = await durable.getCheckpoints();
    await expect(durable.rollbackToCheckpoint(first?.checkpointId ?? "")).rejects.toMatchObject({
      code: "rollback_incomplete",
    });
    const fork = await durable.fork("b");
    expect((await fork.getLatestCheckpoint())?.nodeId).toBe("one");
    expect(await fork.getToolCallsInDoubt()).toEqual([]);
    await expect(agent().resume({ agentId: "b" })).rejects.toThrow("stop");
    expect(world.items).toEqual(["one", "one", "two", "two"]);
    fault.repair();
    await expect(agent().resume()).rejects.toThrow("stop");
    expect(world.undone).toHaveLength(2);
  });

  it("from a checkpoint has the state of that checkpoint, and is paused until it is resumed", async () => {
    const world = new World();
    const book = world.adder("book");
    const node = (name: string) => async (text: string, context: AgentContext) => {
      await context.tools.call(book, { item: name });
      return `${text} ${name}`;
    };
    const opened = await storage.open();
    const built = chain("three", { one: node("one"), two: node("two"), three: node("three") });
    const agent = () => durableAgent(built, opened(), { tools: [book] });
    await agent().run("go");
    const durable = persistence(agent()).agent("a");
    const checkpoints = await durable.getCheckpoints();
    const two = checkpoints.find(({ nodeId }) => nodeId === "two")?.checkpointId ?? "";
    await durable.nameCheckpoint(two, "before-two");
    const [first, , , last] = checkpoints.map(({ checkpointId }) => checkpointId);
    await durable.nameCheckpoint(first ?? "", "moved");
    await durable.nameCheckpoint(last ?? "", "moved");
    const fork = await durable.fork("b", { checkpointId: "before-two" });
    expect((await fork.getCheckpoints()).map(({ checkpointId }) => checkpointId)).toEqual([
      ...checkpoints.slice(0, 2).map(({ checkpointId }) => checkpointId),
      expect.any(String),
    ]);
    const named = (await fork.getCheckpoints()).map(({ name }) => name);
    expect(named).toEqual([undefined, "before-two", undefined]);
    expect(world.items).toEqual(["one", "three", "two"]);
    expect(await agent().resume({ agentId: "b" })).toMatchObject({ output: "go one two three" });
    expect(world.items).toEqual(["one", "three", "three", "two", "two"]);
    expect(await durable.getCheckpoints()).toHaveLength(checkpoints.length);
  });

  it("is refused for a taken id and an unknown agent or checkpoint, and changes nothing", async () => {
    const opened = await storage.open();
    const agent = () =>
      durableAgent(
        asking(async (input) => input),
        opened(),
      );
    await agent().run("go");
    await agent().run("other", { agentId: "b" });
    const durable = persistence(agent()).agent("a");
    for (const id of ["b", "a"])
      await expect(durable.fork(id)).rejects.toMatchObject({ code: "agent_exists", agentId: id });
    await expect(durable.fork("c", { checkpointId: "9-9" })).rejects.toMatchObject({ code: "checkpoint_not_found" });
    await expect(persistence(agent()).agent("none").fork("c")).rejects.toMatchObject({ code: "checkpoint_not_found" });
    await expect(durable.fork("")).rejects.toMatchObject({ code: "invalid_agent_id" });
    expect(await persistence(agent()).agent("b").getMessages()).toEqual([]);
    expect(await entriesOf(opened(), "c")).toEqual([]);
  });

  it.each(["before", "after"])(
    "of an agent that is deleted %s its lines are read is refused as for an unknown agent",
    async (moment) => {
      const opened = await storage.open();
      const provider = opened();
      const agent = durableAgent(
        asking(async (input) => input),
        provider,
      );
      await agent.run("go".repeat(10_000));
      const deleted = () => persistence(agent).deleteAgent("a");
      appendsWith(provider.log, moment === "before" ? { before: deleted } : { after: deleted });
      const refused = { code: "checkpoint_not_found", agentId: "a" };
      await expect(persistence(agent).agent("a").fork("b")).rejects.toMatchObject(refused);
      expect(await entriesOf(opened(), "b")).toEqual([]);
    },
  );

  it("of an agent that is pruned during the copy has all its values", async () => {
    const opened = await storage.open();
    const provider = opened();
    const agent = durableAgent(
      asking(async (input, context) => {
        context.storage.set(large, input.repeat(20_000));
        return input;
      }),
      provider,
    );
    const conversation = persistence(agent).agent("a");
    for (let run = 0; run < 5; run++) await agent.run(String(run));
    let isPruned = false;
    const prunes = async () => {
      if (!isPruned) await persistence(agent).prune({ policy: { maxCheckpoints: 2 } });
      isPruned = true;
    };
    appendsWith(provider.log, { after: prunes });
    const fork = await conversation.fork("b");
    const storedIn = async (each: DurableAgent) => (await each.getCheckpoints()).map(({ storage }) => storage);
    expect(await storedIn(fork)).toMatchObject(await storedIn(conversation));
  });

  it("under the id of a deleted fork gives its calls other ids", async () => {
    const world = new World();
    const book = world.adder("book");
    const opened = await storage.open();
    const built = asking(async (input, context) => {
      const { tools } = context;
      await context.requestInput(question);
      await tools.call(book, { item: input });
      return input;
    });
    const agent = () => durableAgent(built, opened(), { tools: [book] });
    await agent().run("go");
    for (let times = 0; times < 3; times++) {
      const fork = await persistence(agent()).agent("a").fork("b");
      for (const { requestId } of await fork.getRequests()) await fork.answer(requestId, true);
      await agent().resume({ agentId: "b" });
      await persistence(agent()).deleteAgent("b");
    }
    expect(new Set(world.executed).size).toBe(3);
  });
});

it("a fork in a three-method storage is refused", async () => {
  const agent = durableAgent(
    asking(async (input) => input),
    new RowsProvider(),
  );
  await agent.run("go");
  await expect(persistence(agent).agent("a").fork("b")).rejects.toMatchObject({ code: "not_supported" });
});

it("a fork keeps large values and contents in separate blobs", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const agent = new AIAgent({
    llmModel: "m",
    promptExecutor: scriptedModel([]),
    strategy: asking(async (input, context) => {
      const { llm } = context;
      llm.append({ role: "user", content: "x".repeat(100_000) });
      return `${input} ${await context.requestInput(question)} ${llm.messages.map(({ content }) => content.length).join()}`;
    }),
  }).install(Persistence, { storage });
  await agent.run("y".repeat(100_000), { agentId: "a" });
  const fork = await persistence(agent).agent("a").fork("b");
  await persistence(agent).deleteAgent("a");
  const [request] = await fork.getRequests();
  const result = await agent.resume({ agentId: "b", answers: { [request?.requestId ?? ""]: true } });
  expect(result).toMatchObject({ output: expect.stringMatching(/^y{100000} true/) });
});
