import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { InMemoryPersistenceStorageProvider, persistence } from "agent-persistence";
import { destroyKey, encrypted } from "agent-persistence/encryption";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { type NewSchedule, TaskManager, TaskWorker, type TaskWorkerEvent } from "agent-persistence/task";
import { SimulatedClock } from "agent-persistence/testing";
import { exportAgent } from "agent-persistence/transfer";
import { expect, it } from "vitest";
import { CorruptLogError } from "../../../src/errors/storedDataErrors.ts";
import { testKeys } from "../../encryption/encryptedHarness.ts";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { collect, testDirectory } from "../../storage/file/support/fixture.ts";
import { delegatingLog } from "../../testing/delegatingLog.ts";
import { settableClock } from "../queue/settableClock.ts";
import { oneNode } from "../worker/oneNode.ts";

const start = Date.UTC(2026, 0, 1);
const hour = 3_600_000;
const hourly: NewSchedule = { scheduleId: "s", cron: "0 * * * *", taskName: "t", inputRequest: "in" };
const at = (hours: number) => new Date(start + hours * hour).toISOString();
const taskAt = (hours: number, id = "s") => `${id}@${at(hours)}`;

/** A storage in memory, and the ids of its logs that are damaged. */
function setup() {
  const { log } = new InMemoryPersistenceStorageProvider();
  const damaged = new Set<string>();
  const assertIntact = (id: string) => {
    if (damaged.has(id)) throw new CorruptLogError(id, { file: "the log" }, "its checksum is wrong");
  };
  const reads = delegatingLog(log, {
    open: async (id, owner) => {
      assertIntact(id);
      return log.open(id, owner);
    },
    read: async function* (id, options) {
      assertIntact(id);
      yield* log.read(id, options);
    },
  });
  const storage = new LogPersistenceStorageProvider(reads);
  const clock = new SimulatedClock(start);
  const tasks = new TaskManager({ storage, clock: settableClock(clock) });
  const agent = durableAgent(
    oneNode((input) => input),
    storage,
    { clock },
  );
  const events: TaskWorkerEvent[] = [];
  const outcomes: string[] = [];
  const work = () =>
    new TaskWorker({
      tasks,
      agents: agent,
      onOutcome: ({ taskId, outcome }) => void outcomes.push(`${taskId} ${outcome}`),
      onEvent: (event) => void events.push(event),
    }).run();
  return { storage, damaged, clock, tasks, schedules: tasks.schedules, agent, events, outcomes, work };
}

it("misses a tick whose task is refused, and starts the tasks of other schedules", async () => {
  const { storage, clock, tasks, schedules, work, outcomes } = setup();
  const generous = new TaskManager({ storage, clock: settableClock(clock), maxCheckpointBytes: 20_000_000 });
  const large = { ...hourly, scheduleId: "large", inputRequest: "x".repeat(6_000_000) };
  await expect(tasks.schedule(large)).rejects.toMatchObject({ code: "checkpoint_too_large" });
  await generous.schedule(large);
  await tasks.schedule(hourly);
  clock.advance(hour);
  await work();
  expect(outcomes).toEqual([`${taskAt(1)} completed`]);
  expect(await schedules.get("large")).toMatchObject({
    missed: [{ at: at(1), reason: "refused" }],
    nextAt: at(2),
    lastTaskId: undefined,
  });
  await tasks.schedule({ ...hourly, scheduleId: "large" });
  clock.advance(hour);
  await schedules.tick();
  expect(await tasks.get(taskAt(2, "large"))).toMatchObject({ status: "queued" });
});

it("pauses and deletes a schedule whose recorded task is refused", async () => {
  const { storage, damaged, clock, tasks, schedules } = setup();
  await tasks.schedule(hourly);
  clock.advance(hour);
  // The worker stops between the record of the tick and its task.
  const down = delegatingLog(storage.log, {
    open: (id, owner) => (id.startsWith("s@") ? Promise.reject(new Error("killed")) : storage.log.open(id, owner)),
  });
  const killed = new TaskManager({
    storage: new LogPersistenceStorageProvider(down),
    clock: settableClock(clock),
  });
  expect(await killed.schedules.tick()).toMatchObject([{ scheduleId: "s", error: { message: "killed" } }]);
  damaged.add(taskAt(1));
  expect(await schedules.pause("s")).toMatchObject({
    paused: true,
    lastTaskId: undefined,
    missed: [{ at: at(1), reason: "refused" }],
  });
  await schedules.delete("s");
  expect(await collect(schedules.list())).toEqual([]);
});

it("reports a damaged schedule once and runs the other tasks", async () => {
  const { damaged, clock, tasks, work, events, outcomes } = setup();
  await tasks.schedule({ ...hourly, scheduleId: "damaged" });
  await tasks.schedule(hourly);
  clock.advance(hour);
  damaged.add("schedule:damaged");
  await work();
  expect(outcomes).toEqual([`${taskAt(1)} completed`]);
  expect(events).toMatchObject([{ type: "schedule_failed", scheduleId: "damaged", error: { code: "corrupt_log" } }]);
});

it("omits a damaged schedule from the list", async () => {
  const { damaged, tasks, schedules } = setup();
  await tasks.schedule({ ...hourly, scheduleId: "damaged" });
  await tasks.schedule(hourly);
  damaged.add("schedule:damaged");
  expect(await collect(schedules.list())).toMatchObject([{ scheduleId: "s" }]);
  await expect(schedules.get("damaged")).rejects.toMatchObject({ code: "corrupt_log" });
});

it.each(["skip", "queue", "cancel"] as const)(
  "with overlap %s, a damaged or moved task counts as finished",
  async (overlap) => {
    const { storage, damaged, clock, tasks, schedules, outcomes, work } = setup();
    await tasks.schedule({ ...hourly, overlap });
    clock.advance(hour);
    await schedules.tick();
    damaged.add(taskAt(1));
    clock.advance(hour);
    await schedules.tick();
    expect(await tasks.get(taskAt(2))).toMatchObject({ status: "queued" });
    await collect(exportAgent(storage, taskAt(2), { move: true }));
    clock.advance(hour);
    await work();
    expect(outcomes).toContain(`${taskAt(3)} completed`);
    expect(await schedules.get("s")).toMatchObject({ missedCount: 0, waiting: [], lastTaskId: taskAt(3) });
  },
);

it("continues after the data key of the last task was destroyed", async () => {
  const storage = encrypted(new InMemoryPersistenceStorageProvider(), { keys: testKeys("first") });
  const clock = new SimulatedClock(start);
  const tasks = new TaskManager({ storage, clock: settableClock(clock) });
  await tasks.schedule(hourly);
  clock.advance(hour);
  await tasks.schedules.tick();
  await destroyKey(storage, taskAt(1));
  clock.advance(hour);
  expect(await tasks.schedules.tick()).toEqual([]);
  expect(await tasks.get(taskAt(2))).toMatchObject({ status: "queued" });
});

it("with overlap cancel, cancels a failed task before its retry", async () => {
  const { clock, tasks, schedules } = setup();
  await tasks.schedule({ ...hourly, overlap: "cancel", retries: 1, retryDelayMs: 2 * hour });
  clock.advance(hour);
  await schedules.tick();
  await tasks.start(taskAt(1));
  await tasks.fail(taskAt(1), new Error("outage"));
  clock.advance(hour);
  await schedules.tick();
  expect(await tasks.get(taskAt(1))).toMatchObject({ status: "cancelled" });
  expect(await tasks.get(taskAt(2))).toMatchObject({ status: "queued" });
});

it("cancels a failed task only before a pending retry", async () => {
  const { tasks } = setup();
  for (const [taskId, retries] of [["pending", 1] as const, ["dead", 0] as const]) {
    await tasks.create({ taskId, taskName: "t", inputRequest: "in", retries });
    await tasks.start(taskId);
    await tasks.fail(taskId, new Error("outage"));
  }
  expect(await tasks.cancel("pending", "enough")).toMatchObject({ status: "cancelled", data: { reason: "enough" } });
  await expect(tasks.cancel("dead")).rejects.toMatchObject({ code: "transition_not_allowed" });
  expect(await tasks.retryAll()).toEqual(["dead"]);
});

it("runs the other tasks beside a damaged inbox and a damaged expired task", async () => {
  const { damaged, clock, tasks, agent, work, outcomes } = setup();
  await persistence(agent).agent("ghost").send("paid", 1);
  const old = { taskId: "old", taskName: "t", inputRequest: "in", priority: 9, expiresAt: new Date(start + hour) };
  await tasks.create(old);
  await tasks.create({ taskId: "fine", taskName: "t", inputRequest: "in" });
  for (const id of ["old", "inbox:ghost"]) damaged.add(id);
  clock.advance(hour);
  await work();
  expect(outcomes).toEqual(["old interrupted", "fine completed"]);
});

it("retries all dead tasks except a damaged one", async () => {
  const { damaged, tasks } = setup();
  for (const taskId of ["a", "b", "c"]) {
    await tasks.create({ taskId, taskName: "t", inputRequest: "in" });
    await tasks.start(taskId);
    await tasks.fail(taskId, new Error("outage"));
  }
  damaged.add("b");
  expect(await tasks.retryAll()).toEqual(["a", "c"]);
});

it("deletes a schedule whose log on files is damaged, and creates it again", async () => {
  const directory = await testDirectory();
  const { schedules } = new TaskManager({ storage: new FilePersistenceStorageProvider({ directory }) });
  await schedules.set(hourly);
  const names = await readdir(directory, { recursive: true });
  const segment = join(directory, names.find((name) => name.endsWith(".jsonl")) ?? "");
  await writeFile(segment, (await readFile(segment, "utf8")).replace("0 * * * *", "1 * * * *"));
  await expect(schedules.get("s")).rejects.toMatchObject({ code: "corrupt_log" });
  await schedules.delete("s");
  expect(await schedules.get("s")).toBeUndefined();
  await expect(schedules.delete("s")).rejects.toMatchObject({ code: "schedule_not_found" });
  expect(await schedules.set(hourly)).toMatchObject({ scheduleId: "s" });
});
