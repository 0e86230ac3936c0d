import { type AgentContext, InMemoryPersistenceStorageProvider } from "agent-persistence";
import { LogPersistenceStorageProvider, processOwner, type RecordLog } from "agent-persistence/storage";
import { type NewTask, type QueueLimits, TaskManager, type TaskOutcome, TaskWorker } from "agent-persistence/task";
import { SimulatedClock } from "agent-persistence/testing";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { OwnershipLostError } from "../../../src/errors/storageErrors.ts";
import { CorruptLogError } from "../../../src/errors/storedDataErrors.ts";
import { ShapedLog } from "../../../src/journal/shape/ShapedLog.ts";
import { noteTurn } from "../../../src/task/queue/QueuedTasks.ts";
import { RateState } from "../../../src/task/queue/QueueTurns.ts";
import { afterTasksOf, parseTaskOrder, taskOrder } from "../../../src/task/queue/taskOrder.ts";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { delegatingLog } from "../../testing/delegatingLog.ts";
import { oneNode } from "../worker/oneNode.ts";
import { queueStorages } from "./queueStorages.ts";
import { settableClock } from "./settableClock.ts";

describe.each(queueStorages)("$name: limits of queues", (storage) => {
  async function setup(limits: QueueLimits = {}) {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const tasks = new TaskManager({ storage: opened(), clock: settableClock(clock) });
    const began: string[] = [];
    const running = new Map<string, number>();
    let [most, mostOfKey] = [0, 0];
    const body = oneNode(async (input, { signal }: AgentContext) => {
      began.push(input);
      const [key = ""] = input.split("-");
      running.set(key, (running.get(key) ?? 0) + 1);
      most = Math.max(
        most,
        [...running.values()].reduce((sum, one) => sum + one, 0),
      );
      mostOfKey = Math.max(mostOfKey, ...running.values());
      await new Promise((resolve) => setTimeout(resolve, 5));
      signal.throwIfAborted();
      running.set(key, (running.get(key) ?? 0) - 1);
      return input;
    });
    // Each worker has its own storage, like a process.
    const worker = (concurrency = 4) => {
      const own = opened();
      const manager = new TaskManager({ storage: own, clock: settableClock(clock) });
      return new TaskWorker({
        tasks: manager,
        agents: durableAgent(body, own, { clock }),
        concurrency,
        queues: { mail: limits },
      });
    };
    const add = (inputs: readonly string[], more: Partial<NewTask> = {}) =>
      tasks.createMany(
        inputs.map((input) => ({
          taskName: "t",
          taskId: input,
          inputRequest: input,
          queue: "mail",
          key: input.split("-")[0],
          ...more,
        })),
      );
    const peak = () => ({ most, mostOfKey });
    return { opened, clock, tasks, began, worker, add, peak };
  }

  async function untilDone(tasks: TaskManager, workers: readonly TaskWorker[]): Promise<void> {
    const stop = new AbortController();
    const work = workers.map((worker) => worker.run({ pollMs: 5, signal: stop.signal }));
    const unfinished = async () => {
      const statuses = (await collect(tasks.list())).map(({ status }) => status);
      return statuses.filter((status) => status !== "completed");
    };
    await expect.poll(unfinished).toEqual([]);
    stop.abort();
    await Promise.all(work);
  }

  it("run only the tasks of the queues that the worker serves", async () => {
    const { add, worker, began } = await setup();
    await add(["a-1"], { queue: "other" });
    await add(["a-2"]);
    await add(["a-3"], { queue: undefined, key: undefined });
    await worker().run();
    expect(began.toSorted()).toEqual(["a-2", "a-3"]);
  });

  it.each([1, 2, 3])("take turns with %i other queues in a worker", async (others) => {
    const { opened, tasks } = await setup();
    const names = Array.from({ length: others }, (_, n) => `q${n}`);
    for (const queue of [undefined, ...names])
      await tasks.createMany(
        Array.from({ length: 4 }, () => ({ taskName: "t", inputRequest: queue ?? "none", ...(queue && { queue }) })),
      );
    const ran: string[] = [];
    const own = opened();
    const body = oneNode((input) => {
      ran.push(input);
      return input;
    });
    const queues = Object.fromEntries(names.map((name) => [name, {}]));
    await new TaskWorker({ tasks: new TaskManager({ storage: own }), agents: durableAgent(body, own), queues }).run();
    for (let at = 0; at < ran.length; at += names.length + 1)
      expect(ran.slice(at, at + names.length + 1).toSorted()).toEqual(["none", ...names]);
    expect(ran).toHaveLength(4 * (others + 1));
  });

  it("hold over several workers, for a queue and for a key", async () => {
    const { add, worker, tasks, peak, began } = await setup({ concurrency: 3, keyConcurrency: 1 });
    const inputs = Array.from({ length: 12 }, (_, n) => `${"abcd"[n % 4]}-${n}`);
    await add(inputs);
    await untilDone(tasks, [worker(), worker(), worker()]);
    expect(began.toSorted()).toEqual(inputs.toSorted());
    expect(peak().most).toBeLessThanOrEqual(3);
    expect(peak().mostOfKey).toBe(1);
  });

  it("leave a task in the queue while another process holds the slot, and start it after its release", async () => {
    const { add, worker, began, opened } = await setup({ concurrency: 1 });
    await add(["a-1"]);
    const slot = await opened().log.open("slot mail-0", processOwner());
    await worker().run();
    expect(began).toEqual([]);
    await slot.release();
    await worker().run();
    expect(began).toEqual(["a-1"]);
  });

  it("start at most max tasks in any period, and all that it allows", async () => {
    const { add, worker, tasks, began, clock, opened } = await setup();
    const [max, perMs] = [3, 1_000];
    const managers = [tasks, ...[1, 2].map(() => new TaskManager({ storage: opened(), clock: settableClock(clock) }))];
    const take = async (manager: TaskManager) => {
      const turn = await manager.takeTurn({ queue: "mail" }, { rateLimit: { max, perMs } });
      if (turn.kind === "granted") await turn.release();
      return turn.kind === "granted";
    };
    const starts: number[] = [];
    for (const step of [0, 400, 599, 1, 400, 1_000, 3_000]) {
      clock.advance(step);
      const now = clock.now();
      const earlier = starts.filter((at) => now - at < perMs).length;
      const granted = await Promise.all([...managers, ...managers].map(take));
      for (let n = 0; n < max; n++) granted.push(await take(tasks));
      const count = granted.filter(Boolean).length;
      expect(count).toBe(max - earlier);
      starts.push(...Array.from({ length: count }, () => now));
    }
    await add(["a-1"]);
    await worker().run();
    expect(began).toEqual(["a-1"]);
  });

  it("refuse a turn if another worker takes the log of starts meanwhile, and grant the next one", async () => {
    const { tasks } = await setup();
    const take = () => tasks.takeTurn({ queue: "mail" }, { rateLimit: { max: 3, perMs: 1_000 } });
    const lost = vi
      .spyOn(ShapedLog.prototype, "store")
      .mockRejectedValueOnce(new OwnershipLostError("rate:mail", 1, 2));
    expect(await take()).not.toMatchObject({ kind: "granted" });
    lost.mockRestore();
    const turn = await take();
    expect(turn.kind).toBe("granted");
    if (turn.kind === "granted") await turn.release();
  });

  it("start a task of a limited queue when the period ends", async () => {
    const { add, worker, began, clock, tasks } = await setup({ rateLimit: { max: 1, perMs: 1_000 } });
    await add(["a-1", "a-2"]);
    const stop = new AbortController();
    const work = worker().run({ pollMs: 5, signal: stop.signal });
    await expect.poll(async () => (await tasks.get("a-1"))?.status).toBe("completed");
    expect(await tasks.get("a-2")).toMatchObject({ status: "queued" });
    clock.advance(1_000);
    await expect.poll(() => began).toEqual(["a-1", "a-2"]);
    stop.abort();
    await work;
  });

  it("take turns between keys if the worker finds the queue full at other polls", async () => {
    const { add, worker, began } = await setup({ concurrency: 1 });
    const keys = ["a", "b", "c"];
    await add(keys.flatMap((key) => [1, 2, 3, 4].map((n) => `${key}-${n}`)));
    await worker(2).run();
    const turns = began.map((input) => input.split("-")[0] ?? "");
    for (let at = 0; at < turns.length; at += 3) expect(turns.slice(at, at + 3).toSorted()).toEqual(keys);
    expect(turns).toHaveLength(12);
  });

  it("take turns between keys, and prefer higher priorities", async () => {
    const { add, worker, began } = await setup();
    await add(["a-1", "a-2", "a-3", "b-1", "c-1", "c-2"]);
    await add(["d-9"], { priority: 1 });
    await worker(1).run();
    const keys = began.map((input) => input.split("-")[0] ?? "");
    expect(keys[0]).toBe("d");
    expect(keys.slice(1, 4).toSorted()).toEqual(["a", "b", "c"]);
    expect(keys.slice(4, 6).toSorted()).toEqual(["a", "c"]);
    expect(keys[6]).toBe("a");
  });
});

it("a worker waits for its turn if another process takes the slot while it opens it", async () => {
  const { log } = new InMemoryPersistenceStorageProvider();
  let losses = 1;
  const open: RecordLog["open"] = async (id, owner) => {
    if (id.startsWith("slot ") && losses-- > 0) throw new OwnershipLostError(id, 1);
    return log.open(id, owner);
  };
  const storage = new LogPersistenceStorageProvider(delegatingLog(log, { open }));
  const tasks = new TaskManager({ storage });
  await tasks.create({ taskId: "t", taskName: "t", inputRequest: "in", queue: "mail" });
  const agents = durableAgent(
    oneNode((input) => input),
    storage,
  );
  await new TaskWorker({ tasks, agents, queues: { mail: { concurrency: 1 } } }).run();
  expect(await tasks.get("t")).toMatchObject({ status: "completed" });
});

it("a worker reports a task of a queue whose log of starts is damaged, and runs the tasks of other queues", async () => {
  const { log } = new InMemoryPersistenceStorageProvider();
  const read: RecordLog["read"] = (id, options) => {
    if (id === "rate:mail") throw new CorruptLogError(id, { file: "the log" }, "its checksum is wrong");
    return log.read(id, options);
  };
  const storage = new LogPersistenceStorageProvider(delegatingLog(log, { read }));
  const tasks = new TaskManager({ storage });
  for (const queue of ["mail", "other"])
    await tasks.create({ taskId: queue, taskName: "t", inputRequest: "in", queue, priority: queue === "mail" ? 1 : 0 });
  const agents = durableAgent(
    oneNode((input) => input),
    storage,
  );
  const outcomes: TaskOutcome[] = [];
  const onOutcome = (outcome: TaskOutcome) => void outcomes.push(outcome);
  const queues = { mail: { rateLimit: { max: 1, perMs: 1_000 } }, other: {} };
  await new TaskWorker({ tasks, agents, queues, onOutcome }).run();
  expect(outcomes).toMatchObject([
    { taskId: "mail", outcome: "interrupted", error: { code: "corrupt_log" } },
    { taskId: "other", outcome: "completed" },
  ]);
  expect(await tasks.get("mail")).toMatchObject({ status: "queued" });
});

it("a worker tries less often while another process keeps the log of starts", async () => {
  const { log } = new InMemoryPersistenceStorageProvider();
  const tasks = new TaskManager({ storage: new LogPersistenceStorageProvider(log) });
  const take = () => tasks.takeTurn({ queue: "mail" }, { rateLimit: { max: 9, perMs: 60_000 } });
  for (let round = 0; round < 2; round++) {
    const killed = await log.open("rate:mail", processOwner());
    const refusals = [];
    for (let tries = 0; tries < 8; tries++) refusals.push(await take());
    expect(refusals).toMatchObject([20, 40, 80, 160, 320, 640, 1_000, 1_000].map((waitMs) => ({ waitMs })));
    await killed.release();
    expect(await take()).toMatchObject({ kind: "granted" });
  }
});

it("a worker remembers the turns of the last thousand priorities", () => {
  const turns = new Map<string, string>();
  for (let priority = 0; priority < 1_010; priority++) noteTurn(turns, { queue: "mail", key: "a", priority });
  expect(turns.size).toBe(1_000);
});

describe("sort keys of tasks", () => {
  const name = fc.stringMatching(/^[\w.:@/-]{1,8}$/);
  const priority = fc.integer({ min: -3, max: 3 });
  const task = fc.record({ queue: fc.option(name), key: name, priority, time: fc.nat(1e12) });

  it("keep the tasks of a group together, between the sort keys around it", () => {
    fc.assert(
      fc.property(fc.array(task, { minLength: 1, maxLength: 30 }), (given) => {
        const orders = given.map(({ queue, key, priority, time }, n) => {
          const notBefore = new Date(time).toISOString();
          return `${taskOrder({ ...(queue !== null && { queue, key }), notBefore }, priority, 0)} t${n}`;
        });
        const parsed = orders.toSorted().map((order) => ({ order, ...parseTaskOrder(order) }));
        for (const { group, level } of parsed)
          for (const part of [group, level])
            for (const other of parsed)
              expect(other.order > part && other.order < afterTasksOf(part)).toBe(
                part === "" ? other.group === "" || other.order < ":" : other.order.startsWith(part),
              );
      }),
    );
  });
});

describe("the starts of a rate limit", () => {
  it("are read once by each worker", async () => {
    const { log } = new InMemoryPersistenceStorageProvider();
    let entries = 0;
    const read: RecordLog["read"] = async function* (id, options) {
      for await (const entry of log.read(id, options)) {
        entries++;
        yield entry;
      }
    };
    const storage = new LogPersistenceStorageProvider(delegatingLog(log, { read }));
    const [one, other] = [new TaskManager({ storage }), new TaskManager({ storage })];
    const take = async (tasks: TaskManager) => {
      const turn = await tasks.takeTurn({ queue: "mail" }, { rateLimit: { max: 1_000, perMs: 3_600_000 } });
      expect(turn.kind).toBe("granted");
      if (turn.kind === "granted") await turn.release();
    };
    for (let n = 0; n < 100; n++) await take(n % 10 === 0 ? other : one);
    expect(entries).toBeLessThan(1_000);
  });

  it("never exceed max in a period, and use it when tasks wait", () => {
    const limit = fc.record({ max: fc.integer({ min: 1, max: 5 }), perMs: fc.integer({ min: 1, max: 50 }) });
    fc.assert(
      fc.property(limit, fc.array(fc.nat(20), { maxLength: 60 }), ({ max, perMs }, steps) => {
        const state = new RateState();
        const starts: number[] = [];
        let now = 1_000;
        for (const step of steps) {
          now += step;
          const recent = starts.filter((at) => now - at < perMs);
          const waitMs = state.waitMs({ max, perMs }, now);
          expect(waitMs === 0).toBe(recent.length < max);
          if (waitMs > 0) expect(state.waitMs({ max, perMs }, now + waitMs)).toBe(0);
          else {
            state.add({ kind: "start", at: now, perMs });
            starts.push(now);
          }
        }
      }),
    );
  });
});
