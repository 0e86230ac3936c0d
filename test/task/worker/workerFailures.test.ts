import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { LogPersistenceStorageProvider, type RecordLog } from "agent-persistence/storage";
import { TaskManager, TaskWorker, type FileReservations, type TaskOutcome } from "agent-persistence/task";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { logStorages } from "../../persistence/support/storages.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { delegatingLog } from "../../testing/delegatingLog.ts";
import { nextTurn } from "../../../src/internal/nextTurn.ts";
import { oneNode } from "./oneNode.ts";

const reserves = [{ path: "a", operation: "write" }] as const;

describe.each(logStorages)("$name: failures of a worker", (storage) => {
  async function queue(...taskIds: readonly string[]) {
    const opened = await storage.open();
    const tasks = new TaskManager({ storage: opened() });
    // Tasks of one millisecond have no order of their own.
    for (const [at, taskId] of taskIds.entries())
      await tasks.create({ taskId, taskName: taskId[0]!, inputRequest: taskId, priority: -at });
    return { opened, tasks };
  }

  it.each([1, 2, 5, 30])(
    "a worker with an agent of another storage rejects after its tasks end: %i at once",
    async (concurrency) => {
      const { opened, tasks } = await queue("good", ...Array.from({ length: 8 }, (_unused, index) => `bad${index}`));
      const other = (await storage.open())();
      const elsewhere = new TaskManager({ storage: (await storage.open())() });
      let isOver = false;
      let fail = (): void => {};
      const failed = new Promise<void>((resolve) => (fail = resolve));
      const get = tasks.get.bind(tasks);
      vi.spyOn(tasks, "get").mockImplementation((taskId) => {
        if (taskId.startsWith("bad")) fail();
        return get(taskId);
      });
      const body = async (input: string) => {
        // Alone, it ends before another task can fail.
        if (concurrency > 1) await failed;
        await elsewhere.create({ taskName: "n", inputRequest: "takes longer than the failure" });
        isOver = true;
        return input;
      };
      const agents = { g: durableAgent(oneNode(body), opened()), b: durableAgent(oneNode(body), other) };
      await expect(new TaskWorker({ tasks, agents, concurrency }).run()).rejects.toMatchObject({
        code: "other_storage",
      });
      expect(isOver).toBe(true);
      expect(await tasks.get("good")).toMatchObject({ status: "completed" });
    },
  );

  it("a worker warns of files that it could not release and continues", async () => {
    const { opened, tasks } = await queue();
    for (const taskId of ["a", "b"]) await tasks.create({ taskId, taskName: "n", inputRequest: taskId, reserves });
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    onTestFinished(() => {
      warned.mockRestore();
    });
    const reservations: FileReservations = {
      acquire: async () => ({ release: () => Promise.reject(new RangeError("no way back")) }),
    };
    const outcomes: TaskOutcome[] = [];
    const onOutcome = (outcome: TaskOutcome) => void outcomes.push(outcome);
    const agents = durableAgent(
      oneNode((input) => input),
      opened(),
    );
    await new TaskWorker({ tasks, agents, reservations, onOutcome }).run();
    expect(outcomes).toMatchObject([{ outcome: "completed" }, { outcome: "completed" }]);
    expect(warned.mock.calls).toEqual(
      ["a", "b"].map((taskId) => [
        expect.stringMatching(new RegExp(`"${taskId}".*no way back`)),
        expect.objectContaining({ code: "release_failed" }),
      ]),
    );
  });
});

it("a disposed worker no longer uses the storage", async () => {
  const { log } = new InMemoryPersistenceStorageProvider();
  let startListing = (): void => {};
  const listing = new Promise<void>((resolve) => (startListing = resolve));
  let goOn = (): void => {};
  const mayGoOn = new Promise<void>((resolve) => (goOn = resolve));
  const done: string[] = [];
  const list: RecordLog["list"] = async function* (options) {
    startListing();
    await mayGoOn;
    yield* log.list(options);
    done.push("listed");
  };
  const storage = new LogPersistenceStorageProvider(delegatingLog(log, { list }));
  const agents = durableAgent(
    oneNode((input) => input),
    storage,
  );
  const worker = new TaskWorker({ tasks: new TaskManager({ storage }), agents });
  const run = worker.run({ pollMs: 60_000 });
  await listing;
  const disposal = worker[Symbol.asyncDispose]().then(() => done.push("disposed"));
  await nextTurn();
  goOn();
  await Promise.all([run, disposal]);
  expect(done).toEqual(["listed", "disposed"]);
});

it("tasks leave nothing in the signal of a worker", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const tasks = new TaskManager({ storage });
  const task = { taskName: "t", inputRequest: "in", queue: "q" };
  await tasks.createMany(Array.from({ length: 20 }, () => task));
  const { signal } = new AbortController();
  const agents = durableAgent(
    oneNode((input) => input),
    storage,
  );
  await new TaskWorker({ tasks, agents, queues: { q: { concurrency: 9 } } }).run({ signal });
  // In Node, a signal keeps the signals that `AbortSignal.any` made from it.
  const values = Object.getOwnPropertySymbols(signal).map((symbol): unknown => Reflect.get(signal, symbol));
  const sizes = values.flatMap((value) => (value as Partial<Set<unknown>> | undefined)?.size ?? []);
  expect(Math.max(0, ...sizes)).toBeLessThan(5);
  expect(await collect(tasks.list({ status: "completed" }))).toHaveLength(20);
});
