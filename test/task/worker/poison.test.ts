import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { TaskManager, TaskWorker, type NewTask, type TaskOutcome } from "agent-persistence/task";
import { SimulatedClock } from "agent-persistence/testing";
import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, strategy } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { describe, expect, it, vi } from "vitest";
import { logStorages } from "../../persistence/support/storages.ts";
import { judgeAttempts } from "../../../src/task/worker/TaskBackoff.ts";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { oneNode } from "./oneNode.ts";
import { testDirectory } from "../../storage/file/support/fixture.ts";

/** Two steps, of which the second ends the process at a poisonous input. */
function agentOn(storage: FilePersistenceStorageProvider, clock: SimulatedClock, end: (input: string) => void) {
  const steps = strategy<string, string>("steps", (g) => {
    const first = g.node("first", (input: string) => input);
    const second = g.node("second", (input: string) => {
      end(input);
      return input;
    });
    g.edge(g.start, first);
    g.edge(first, second);
    g.edge(second, g.finish);
  });
  const agent = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none", strategy: steps });
  return agent.install(Persistence, { storage, clock });
}

describe.each(logStorages)("$name: a task that ends every process that runs it", (kind) => {
  async function setup(...given: readonly (Partial<NewTask> & { readonly taskId: string })[]) {
    const opened = await kind.open();
    const clock = new SimulatedClock();
    const tasks = new TaskManager({ storage: opened(), clock });
    for (const task of given) {
      clock.advance(1000);
      await tasks.create({ taskName: "steps", inputRequest: task.taskId, ...task });
    }
    const ran: string[] = [];
    const outcomes: TaskOutcome[] = [];
    /** A worker that is stopped, as its process is, when it comes to the poison. True: nothing is left for it. */
    const work = async (isPoison: (input: string) => boolean, options: object = {}): Promise<boolean> => {
      const stop = new AbortController();
      const agents = agentOn(opened() as FilePersistenceStorageProvider, clock, (input) => {
        ran.push(input);
        if (!isPoison(input)) return;
        stop.abort(new Error("the process ends"));
        throw stop.signal.reason as Error;
      });
      const onOutcome = (outcome: TaskOutcome) => void outcomes.push(outcome);
      await new TaskWorker({ tasks, agents, onOutcome, ...options }).run({ signal: stop.signal });
      return !stop.signal.aborted;
    };
    return { tasks, clock, ran, outcomes, work };
  }

  it("fails after five attempts, and the others run", async () => {
    const { tasks, clock, ran, outcomes, work } = await setup({ taskId: "poison" }, { taskId: "b" }, { taskId: "c" });
    for (let restart = 0; restart < 8; restart++) {
      clock.advance(100_000);
      await work((input) => input === "poison");
    }
    expect(ran.filter((input) => input === "poison")).toHaveLength(5);
    expect(await tasks.get("poison")).toMatchObject({
      status: "failed",
      data: { errorType: "TooManyAttemptsError", recoverable: true },
    });
    expect(outcomes.filter(({ outcome }) => outcome === "failed")).toMatchObject([
      { taskId: "poison", recovered: true, error: { code: "too_many_attempts", attempts: 5 } },
    ]);
    for (const taskId of ["b", "c"]) expect(await tasks.get(taskId)).toMatchObject({ status: "completed" });
    await tasks.retry("poison");
    await work(() => false);
    expect(await tasks.get("poison")).toMatchObject({ status: "completed" });
  });

  it("runs after queued tasks of a higher priority and before those of a lower one", async () => {
    const { tasks, ran, work } = await setup({ taskId: "poison" });
    await work((input) => input === "poison");
    await tasks.create({ taskId: "low", taskName: "steps", inputRequest: "low", priority: -1 });
    await tasks.create({ taskId: "high", taskName: "steps", inputRequest: "high", priority: 1 });
    await work(() => false);
    expect(ran).toEqual(["poison", "high", "poison", "low"]);
  });

  it("is restarted once immediately, then after growing delays while others run", async () => {
    const { clock, ran, work } = await setup({ taskId: "poison" }, { taskId: "b" });
    const isPoison = (input: string) => input === "poison";
    await work(isPoison);
    await work(isPoison);
    expect(ran).toEqual(["poison", "poison"]);
    const third = work(isPoison);
    await vi.waitFor(() => expect(ran).toEqual(["poison", "poison", "b"]), 600_000);
    let isOver = false;
    void third.then(() => (isOver = true));
    await vi.waitFor(
      () => {
        if (!isOver) clock.advance(10);
        expect(isOver).toBe(true);
      },
      { interval: 1, timeout: 600_000 },
    );
    expect(ran).toEqual(["poison", "poison", "b", "poison"]);
  });

  it("is retried by a worker with all its attempts", async () => {
    const { tasks, ran, work } = await setup({ taskId: "poison", retries: 1, retryDelayMs: 0 });
    const limits = { maxAttempts: 2, attemptDelayMs: 0 };
    for (let restart = 0; restart < 2; restart++) await work(() => true, limits);
    expect(await work(() => false, limits)).toBe(true);
    expect(ran).toHaveLength(3);
    expect(await tasks.get("poison")).toMatchObject({ status: "completed" });
  });

  it("resets its attempts after progress, and follows the limits of the worker", async () => {
    const { tasks, clock, outcomes, work } = await setup({ taskId: "poison" });
    const limits = { maxAttempts: 2, attemptDelayMs: 0 };
    await work(() => true, limits);
    await work(() => true, limits);
    clock.advance(1);
    await work(() => true, limits);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(["interrupted", "interrupted", "failed"]);
    expect(await tasks.get("poison")).toMatchObject({ status: "failed" });
  });
});

it.each([
  [0, 0, { kind: "begin" }],
  [1, 0, { kind: "begin" }],
  [2, 0, { kind: "wait", ms: 1_000 }],
  [2, 999, { kind: "wait", ms: 1 }],
  [2, 1_000, { kind: "begin" }],
  [3, 1_000, { kind: "wait", ms: 1_000 }],
  [4, 0, { kind: "wait", ms: 4_000 }],
  [4, -1, { kind: "begin" }],
  [5, 1_000_000, { kind: "refuse" }],
  [6, 0, { kind: "refuse" }],
])("after %i attempts, %i ms after the last start: %j", (attempts, passedMs, expected) => {
  const updatedAt = "2026-01-01T00:00:00.000Z";
  const limits = { maxAttempts: 5, attemptDelayMs: 1_000 };
  expect(judgeAttempts({ attempts, updatedAt }, limits, Date.parse(updatedAt) + passedMs)).toEqual(expected);
});

it("the delay is at most 64 times the first delay", () => {
  const updatedAt = "2026-01-01T00:00:00.000Z";
  const judged = judgeAttempts(
    { attempts: 90, updatedAt },
    { maxAttempts: 99, attemptDelayMs: 10 },
    Date.parse(updatedAt),
  );
  expect(judged).toEqual({ kind: "wait", ms: 640 });
});

it("a log of an earlier version without attempts is accepted", async () => {
  const storage = new FilePersistenceStorageProvider({ directory: await testDirectory() });
  const tasks = new TaskManager({ storage });
  await tasks.create({ taskId: "t", taskName: "steps", inputRequest: "in" });
  await tasks.start("t");
  const claimable = [];
  for await (const task of tasks.claimable()) claimable.push(task);
  expect(claimable).toMatchObject([{ taskId: "t", attempts: 0 }]);
});

const proxies: Readonly<Record<string, () => unknown>> = {
  "a revoked proxy": () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  "a proxy whose properties throw": () =>
    new Proxy(
      {},
      {
        get() {
          throw new Error("unreadable");
        },
      },
    ),
};

it.each(Object.keys(proxies))("a task that throws %s fails, and the others run", async (thrown) => {
  const storage = new InMemoryPersistenceStorageProvider();
  const tasks = new TaskManager({ storage });
  const body = oneNode((input) => {
    if (input === "poison") throw proxies[thrown]?.();
    return input;
  });
  for (const [priority, inputRequest] of ["other", "poison"].entries())
    await tasks.create({ taskId: inputRequest, taskName: "t", inputRequest, priority });
  await new TaskWorker({ tasks, agents: durableAgent(body, storage) }).run();
  expect(await tasks.get("poison")).toMatchObject({ status: "failed", data: { errorType: "Error" } });
  expect(await tasks.get("other")).toMatchObject({ status: "completed" });
});
