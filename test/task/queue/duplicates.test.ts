import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { Telemetry, type TelemetryOperation, type TelemetrySpan } from "agent-persistence/feature";
import { LogPersistenceStorageProvider, TableRecordLog } from "agent-persistence/storage";
import { type NewTask, TaskManager } from "agent-persistence/task";
import { SimulatedClock } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { AgentBusyError, OwnershipLostError } from "../../../src/errors/storageErrors.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { MemoryTable } from "../../storage/table/MemoryTable.ts";
import { delegatingLog, delegatingOwner, type LogChanges } from "../../testing/delegatingLog.ts";
import { settableClock } from "./settableClock.ts";

const start = Date.UTC(2026, 0, 1);
const hour = 3_600_000;
const window = start / hour;
const duplicate: NewTask = {
  taskName: "t",
  inputRequest: "in",
  deduplicationId: "order",
  deduplicationWindowMs: hour,
};

/** Two managers of one storage. The changes apply to the first one. */
function setup(changesOf: (log: LogPersistenceStorageProvider["log"]) => LogChanges) {
  const plain = new InMemoryPersistenceStorageProvider();
  const clock = new SimulatedClock(start);
  const storage = new LogPersistenceStorageProvider(delegatingLog(plain.log, changesOf(plain.log)));
  const tasks = new TaskManager({ storage, clock: settableClock(clock) });
  const other = new TaskManager({ storage: plain, clock: settableClock(clock) });
  return { clock, tasks, other };
}

it("finds a duplicate that another process created while this one waited for longer than a window", async () => {
  let waits = true;
  const { clock, tasks, other } = setup((log) => ({
    open: async (id, owner) => {
      if (id.startsWith("lock-") && waits) {
        waits = false;
        clock.advance(3 * hour);
        await other.create(duplicate);
      }
      return log.open(id, owner);
    },
  }));
  await tasks.create(duplicate);
  expect(await collect(tasks.list())).toHaveLength(1);
});

it("finds a duplicate of another process that took the lock", async () => {
  let isLost = false;
  let isRead = false;
  const { clock, tasks, other } = setup((log) => ({
    open: async (id, owner) => {
      const owned = await log.open(id, owner);
      if (!id.startsWith("lock-") || isLost) return owned;
      isLost = true;
      await owned.release();
      return delegatingOwner(owned, {
        lost: AbortSignal.abort(new OwnershipLostError(id, 1, 2)),
        release: async () => {},
      });
    },
    read: async function* (id, options) {
      yield* log.read(id, options);
      if (isRead || !id.endsWith(`-${window + 1}`)) return;
      isRead = true;
      clock.advance(hour);
      await other.create(duplicate);
    },
  }));
  await tasks.create(duplicate);
  expect([isLost, isRead]).toEqual([true, true]);
  expect(await collect(tasks.list())).toHaveLength(1);
});

it("creates one task for many duplicates in one call, which never wait for each other's lock", async () => {
  let busy = 0;
  const { tasks } = setup((log) => ({
    open: async (id, owner) => {
      try {
        return await log.open(id, owner);
      } catch (error) {
        if (error instanceof AgentBusyError && id.startsWith("lock-")) busy++;
        throw error;
      }
    },
  }));
  const made = await tasks.createMany(Array.from({ length: 60 }, () => duplicate));
  expect(new Set(made.map(({ taskId }) => taskId)).size).toBe(1);
  expect(busy).toBe(0);
});

it("owns one of 4,096 logs for any number of ids", async () => {
  const locks = new Set<string>();
  const { tasks } = setup((log) => ({
    open: (id, owner) => {
      if (id.startsWith("lock-")) locks.add(id);
      return log.open(id, owner);
    },
  }));
  const others = Array.from({ length: 100 }, (_, n) => ({ ...duplicate, deduplicationId: `order ${n}` }));
  await tasks.createMany(others);
  expect(await collect(tasks.list())).toHaveLength(100);
  expect([...locks].filter((id) => !/^lock-once-[\w-]{2}$/.test(id))).toEqual([]);
  expect(locks.size).toBeGreaterThan(80);
});

it("reports no failure of a duplicate to the telemetry of a table", async () => {
  const failures: unknown[] = [];
  class Recorder extends Telemetry {
    start({ kind }: TelemetryOperation): TelemetrySpan {
      return { run: (work) => work(), end: (_facts, failure) => void failures.push([kind, failure?.error]) };
    }
  }
  const storage = new LogPersistenceStorageProvider(new TableRecordLog(new MemoryTable()));
  const tasks = new TaskManager({ storage, telemetry: new Recorder() });
  const task = { taskName: "t", inputRequest: "in", deduplicationId: "order" };
  expect((await tasks.create(task)).taskId).toBe((await tasks.create(task)).taskId);
  expect(failures).toEqual([
    ["enqueue", undefined],
    ["enqueue", undefined],
  ]);
});

it("creates the first of two tasks with the same id in one call", async () => {
  let [opening, mostOpening] = [0, 0];
  const { tasks } = setup((log) => ({
    open: async (id, owner) => {
      mostOpening = Math.max(mostOpening, ++opening);
      try {
        return await log.open(id, owner);
      } finally {
        opening--;
      }
    },
  }));
  const same = ["first", "second"].map((inputRequest) => ({ taskName: "t", taskId: "a", inputRequest }));
  await expect(tasks.createMany(same)).rejects.toMatchObject({ code: "task_exists", agentId: "a" });
  expect(await tasks.get("a")).toMatchObject({ inputRequest: "first" });
  expect(mostOpening).toBe(1);
});
