import { InMemoryPersistenceStorageProvider, Persistence, persistence, AIAgent } from "agent-persistence";
import { LogPersistenceStorageProvider, processOwner, type RecordLog } from "agent-persistence/storage";
import { TaskManager, TaskWorker } from "agent-persistence/task";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { newsStatus } from "../../../src/journal/inbox/InboxState.ts";
import { appendText, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { delegatingLog } from "../../testing/delegatingLog.ts";
import { z } from "zod";
import { oneNode } from "./oneNode.ts";

type Call = "open" | "read" | "owner" | "list";

/** A storage in memory, with the calls that its log got; `agentId` is empty for lists. */
function counted() {
  const { log } = new InMemoryPersistenceStorageProvider();
  const calls: { readonly call: Call; readonly agentId: string }[] = [];
  const noted = <Result>(call: Call, agentId: string, result: Result): Result => {
    calls.push({ call, agentId });
    return result;
  };
  const changes: Partial<RecordLog> = {
    open: (agentId, owner) => noted("open", agentId, log.open(agentId, owner)),
    read: (agentId, options) => noted("read", agentId, log.read(agentId, options)),
    owner: (agentId) => noted("owner", agentId, log.owner(agentId)),
    list: (options) => noted("list", "", log.list(options)),
  };
  const storage = new LogPersistenceStorageProvider(delegatingLog(log, changes));
  const tasks = new TaskManager({ storage, clock: new SimulatedClock() });
  const count = (call: Call) => calls.filter((each) => each.call === call).length;
  return { storage, tasks, calls, count };
}

async function queue(tasks: TaskManager, count: number, taskName = "echo"): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, (_, n) => `t${n}`);
  for (const taskId of ids) await tasks.create({ taskId, taskName, inputRequest: taskId });
  return ids;
}

function echo(storage: LogPersistenceStorageProvider): AIAgent<string, string> {
  return new AIAgent({
    promptExecutor: scriptedModel([]),
    llmModel: "none",
    strategy: oneNode((input) => input),
  }).install(Persistence, { storage, retention: { maxCheckpoints: 20 } });
}

function receiver(storage: LogPersistenceStorageProvider): AIAgent<string, string> {
  return new AIAgent({
    promptExecutor: scriptedModel([]),
    llmModel: "none",
    strategy: oneNode((_input, context) => context.receive("paid", { schema: z.string() })),
  }).install(Persistence, { storage, sleepInProcessMs: 0 });
}

describe("a storage with narrow lists", () => {
  it("gets only four list calls from a poll over 20 running and 30 queued tasks", async () => {
    const { storage, tasks, calls, count } = counted();
    const ids = await queue(tasks, 50);
    for (const taskId of ids.slice(0, 20)) {
      await tasks.start(taskId);
      await storage.log.open(taskId, processOwner());
    }
    calls.length = 0;
    expect(await collect(tasks.claimable())).toHaveLength(30);
    expect([count("list"), calls.length]).toEqual([4, 4]);
  });

  it("gets four list calls from a poll over 2,000 running or waiting tasks", async () => {
    const { storage, tasks, calls, count } = counted();
    for (let n = 0; n < 2_000; n++) {
      const owned = await storage.log.open(`t${n}`, processOwner());
      const { dueAt: _dueAt, ...waiting } = exampleSummary(`t${n}`, "waiting", { order: String(n) });
      const summary = n % 2 === 0 ? waiting : { ...waiting, status: "in_progress" };
      await appendText(owned, "x", { summary });
      if (n % 2 === 0) await owned.release();
    }
    calls.length = 0;
    expect(await collect(tasks.claimable())).toEqual([]);
    expect([count("list"), calls.length]).toEqual([4, 4]);
  });

  it("gets as many calls for a task with an event among 2,000 waiting tasks as among 10", async () => {
    const callsAmong = async (waiting: number) => {
      const { storage, tasks, calls } = counted();
      for (let n = 0; n < waiting; n++) {
        const owned = await storage.log.open(`t${n}`, processOwner());
        const { dueAt: _dueAt, ...summary } = exampleSummary(`t${n}`, "waiting", { order: String(n) });
        await appendText(owned, "x", { summary });
        await owned.release();
      }
      const agent = receiver(storage);
      await tasks.create({ taskId: "woken", taskName: "receive", inputRequest: "go" });
      await new TaskWorker({ tasks, agents: { receive: agent } }).run();
      expect(await collect(tasks.claimable())).toEqual([]);
      await persistence(agent).agent("woken").send("paid", "one");
      calls.length = 0;
      expect(await collect(tasks.claimable())).toMatchObject([{ taskId: "woken", status: "waiting" }]);
      return calls.length;
    };
    expect(await callsAmong(2_000)).toBe(await callsAmong(10));
  });

  it("gets as many calls for each of 40 tasks with an event as for each of 10", async () => {
    const callsPerTask = async (woken: number) => {
      const { storage, tasks, calls } = counted();
      const agent = receiver(storage);
      const ids = await queue(tasks, woken, "receive");
      await new TaskWorker({ tasks, agents: agent }).run();
      for (const id of ids) await persistence(agent).agent(id).send("paid", "one");
      calls.length = 0;
      await new TaskWorker({ tasks, agents: agent }).run();
      expect(await collect(tasks.list({ status: "completed" }))).toHaveLength(woken);
      return calls.length / woken;
    };
    expect((await callsPerTask(40)) / (await callsPerTask(10))).toBeLessThan(1.2);
  });

  it("gets the same calls from a poll of a queue with 10 or 200 delayed tasks and tasks of a full key", async () => {
    const counts: number[] = [];
    for (const many of [10, 200]) {
      const { tasks, calls } = counted();
      const task = { taskName: "echo", inputRequest: 1, queue: "q" };
      const others = Array.from({ length: many }, () => task);
      await tasks.createMany([
        ...others.map((each) => ({ ...each, key: "a" })),
        ...others.map((each) => ({ ...each, key: "c", notBefore: "2027-01-01T00:00:00Z" })),
        { ...task, taskId: "free", key: "d" },
      ]);
      calls.length = 0;
      const found = await collect(tasks.claimable({ queue: "q", fullKeys: new Set(["a"]) }));
      expect(found.map(({ taskId }) => taskId)).toEqual(["free"]);
      counts.push(calls.length);
    }
    expect(counts[0]).toBeLessThan(15);
    expect(counts[1]).toBe(counts[0]);
  });

  it("gets few calls for a queued task, starting with its open", async () => {
    const { storage, tasks, calls, count } = counted();
    const ids = await queue(tasks, 30);
    calls.length = 0;
    await new TaskWorker({ tasks, agents: echo(storage) }).run();
    expect((await collect(tasks.list())).map(({ status }) => status)).toEqual(ids.map(() => "completed"));
    for (const taskId of ids) expect(calls.find(({ agentId }) => agentId === taskId)).toMatchObject({ call: "open" });
    expect([count("open"), count("owner")]).toEqual([30, 0]);
    // A poll for each task, and each log is read once.
    expect(calls.length).toBeLessThanOrEqual(7 * ids.length);
  });

  it("gets no log read from a pruning of agents within their limits", async () => {
    const { storage, tasks, calls, count } = counted();
    await queue(tasks, 30);
    const agent = echo(storage);
    await new TaskWorker({ tasks, agents: agent }).run();
    calls.length = 0;
    expect(await persistence(agent).prune()).toMatchObject({ pruned: [], busy: [], failed: [] });
    expect([count("list"), calls.length]).toEqual([1, 1]);
  });
});

it("lists a task with an event although a list that began before the event ends meanwhile", async () => {
  const { log } = new InMemoryPersistenceStorageProvider();
  const goOn: (() => void)[] = [];
  let isSlow = false;
  const list: RecordLog["list"] = async function* (options) {
    yield* log.list(options);
    if (isSlow && options?.status === newsStatus) await new Promise<void>((resolve) => goOn.push(resolve));
  };
  const storage = new LogPersistenceStorageProvider(delegatingLog(log, { list }));
  const tasks = new TaskManager({ storage });
  const agent = receiver(storage);
  await queue(tasks, 1, "receive");
  await new TaskWorker({ tasks, agents: agent }).run();
  isSlow = true;
  const earlier = collect(tasks.claimable());
  await expect.poll(() => goOn.length).toBe(1);
  await persistence(agent).agent("t0").send("paid", "one");
  const later = collect(tasks.claimable());
  await expect.poll(() => goOn.length).toBe(2);
  goOn[0]?.();
  expect(await earlier).toEqual([]);
  goOn[1]?.();
  expect(await later).toMatchObject([{ taskId: "t0" }]);
});
