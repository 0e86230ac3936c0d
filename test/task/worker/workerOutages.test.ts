import { LogPersistenceStorageProvider, TableRecordLog, type LogWatch } from "agent-persistence/storage";
import { TaskManager, TaskWorker, type TaskOutcome, type TaskWorkerEvent } from "agent-persistence/task";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { AIAgent, Persistence } from "agent-persistence";
import { expect, it } from "vitest";
import { nextTurn } from "../../../src/internal/nextTurn.ts";
import { connectionLost, MemoryTable } from "../../storage/table/MemoryTable.ts";
import { anyProcess } from "../../testing/conformance/anyProcess.ts";
import { oneNode } from "./oneNode.ts";

const [pollMs, retryMs] = [1_000, 5_000];

function setup() {
  const [table, clock] = [new MemoryTable(), new SimulatedClock()];
  const log = new TableRecordLog(table, { clock, retryMs, processIdentity: anyProcess });
  const storage = new LogPersistenceStorageProvider(log);
  const tasks = new TaskManager({ storage, clock });
  const agents = new AIAgent({
    promptExecutor: scriptedModel([]),
    llmModel: "none",
    strategy: oneNode((input) => input),
  }).install(Persistence, { storage, clock });
  const [events, outcomes]: [TaskWorkerEvent[], TaskOutcome[]] = [[], []];
  const worker = new TaskWorker({
    tasks,
    agents,
    onOutcome: (outcome) => void outcomes.push(outcome),
    onEvent: (event) => void events.push(event),
  });
  const breakDown = () => {
    table.onCall = () => {
      throw connectionLost();
    };
  };
  const repair = () => void (table.onCall = () => {});
  const until = async (holds: () => boolean) => {
    while (!holds()) {
      clock.advance(100);
      for (let turn = 0; turn < 5; turn++) await nextTurn();
    }
  };
  return { table, clock, tasks, worker, events, outcomes, breakDown, repair, until };
}

it("a worker that polls survives an outage longer than `retryMs`, reports it and runs the next task", async () => {
  const { tasks, worker, events, outcomes, breakDown, repair, until } = setup();
  const stop = new AbortController();
  const running = worker.run({ pollMs, signal: stop.signal });
  await tasks.create({ taskId: "first", taskName: "n", inputRequest: "1" });
  await until(() => outcomes.length === 1);
  breakDown();
  await until(() => events.length === 3);
  repair();
  await until(() => events.length === 4);
  await tasks.create({ taskId: "second", taskName: "n", inputRequest: "2" });
  await until(() => outcomes.length === 2);
  stop.abort();
  await running;
  const failed = { type: "storage_failed", retryAfterMs: pollMs, error: { code: "storage_failed" } };
  expect(events).toMatchObject([failed, failed, failed, { type: "storage_recovered" }]);
  const { outageMs } = events[3] as Extract<TaskWorkerEvent, { type: "storage_recovered" }>;
  // Two further polls failed after the first one.
  expect(outageMs).toBeGreaterThanOrEqual(2 * retryMs);
  expect(outcomes).toMatchObject(["first", "second"].map((taskId) => ({ taskId, outcome: "completed" })));
});

it("a worker that starts during an outage runs the tasks afterwards", async () => {
  const { tasks, worker, events, outcomes, breakDown, repair, until } = setup();
  await tasks.create({ taskId: "a", taskName: "n", inputRequest: "1" });
  breakDown();
  const stop = new AbortController();
  const running = worker.run({ pollMs, signal: stop.signal });
  await until(() => events.length === 2);
  repair();
  await until(() => outcomes.length === 1);
  stop.abort();
  await running;
  expect(outcomes).toMatchObject([{ taskId: "a", outcome: "completed" }]);
});

it("a polling worker runs tasks while only the watch of the storage fails, and watches it afterwards", async () => {
  const { table, tasks, worker, events, outcomes, until } = setup();
  let [isDown, watches] = [true, 0];
  const watch = async (): Promise<LogWatch> => {
    if (isDown) throw connectionLost();
    watches++;
    return { close: async () => void watches-- };
  };
  Object.assign(table, { watch });
  await tasks.create({ taskId: "a", taskName: "n", inputRequest: "1" });
  const stop = new AbortController();
  const running = worker.run({ pollMs, signal: stop.signal });
  await until(() => outcomes.length === 1);
  expect(events).toEqual([]);
  await until(() => events.length === 2);
  isDown = false;
  await until(() => watches === 1);
  stop.abort();
  await running;
  const failed = { type: "storage_failed", error: { code: "storage_failed" } };
  expect(events).toMatchObject([failed, failed]);
  expect(watches).toBe(0);
});

it("a worker that does not poll rejects when the storage stops retrying", async () => {
  const { worker, breakDown, until } = setup();
  breakDown();
  let error: unknown;
  const running = worker.run().catch((reason: unknown) => (error = reason));
  await until(() => error !== undefined);
  await running;
  expect(error).toMatchObject({ code: "storage_failed", reason: "unavailable" });
});
