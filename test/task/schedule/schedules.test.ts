import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { LogPersistenceStorageProvider, type RecordLog } from "agent-persistence/storage";
import { type NewSchedule, type Task, TaskManager, TaskWorker } from "agent-persistence/task";
import { crashAfter, SimulatedClock } from "agent-persistence/testing";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { OwnershipLostError } from "../../../src/errors/storageErrors.ts";
import { ShapedLog } from "../../../src/journal/shape/ShapedLog.ts";
import { planTicks } from "../../../src/task/queue/Schedule.ts";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { cases } from "../../soak/cases.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { delegatingLog } from "../../testing/delegatingLog.ts";
import { queueStorages } from "../queue/queueStorages.ts";
import { settableClock } from "../queue/settableClock.ts";
import { oneNode } from "../worker/oneNode.ts";

const start = Date.UTC(2026, 0, 1);
const hour = 3_600_000;
const hourly: NewSchedule = { scheduleId: "s", cron: "0 * * * *", taskName: "t", inputRequest: { list: "all" } };

/** The times in the ids of tasks. */
const ticksOf = (tasks: readonly Task[]) => tasks.map(({ taskId }) => taskId.split("@")[1] ?? "");
const at = (hours: number) => new Date(start + hours * hour).toISOString();

describe.each(queueStorages)("$name: schedules", (storage) => {
  async function setup(given: Partial<NewSchedule> = {}) {
    const opened = await storage.open();
    const clock = new SimulatedClock(start);
    const manager = () => new TaskManager({ storage: opened(), clock: settableClock(clock) });
    const tasks = manager();
    const schedule = await tasks.schedule({ ...hourly, ...given });
    const list = () => collect(tasks.list());
    const complete = async (hours: number) => {
      await tasks.start(`s@${at(hours)}`);
      await tasks.complete(`s@${at(hours)}`, { output: 1 });
    };
    const { schedules } = tasks;
    return { opened, clock, tasks, schedules, manager, schedule, list, complete };
  }

  it("start the task of a tick once if another worker takes the schedule before the tick is recorded", async () => {
    const { clock, schedules, list } = await setup();
    clock.advance(hour);
    const lost = vi
      .spyOn(ShapedLog.prototype, "store")
      .mockRejectedValueOnce(new OwnershipLostError("schedule:s", 1, 2));
    await schedules.tick();
    expect(lost).toHaveBeenCalledOnce();
    lost.mockRestore();
    // The next owner may decide otherwise.
    expect(await list()).toEqual([]);
    await schedules.tick();
    await schedules.tick();
    expect(ticksOf(await list())).toEqual([at(1)]);
    expect(await schedules.get("s")).toMatchObject({ nextAt: at(2), missedCount: 0 });
  });

  it("start the task of each tick once and in order, at whatever save a worker is killed", async () => {
    for (let saves = 0; saves < 10; saves++) {
      const { clock, opened, tasks, list } = await setup({ catchUp: "all", overlap: "cancel" });
      clock.advance(3 * hour);
      const killed = new TaskManager({ storage: crashAfter(opened(), saves), clock: settableClock(clock) });
      await killed.schedules.tick().catch(() => undefined);
      // The worker stores the tick, its task, and the cancellation of the task.
      expect(await tasks.schedules.get("s")).toMatchObject(saves < 1 ? { nextAt: at(1) } : { missedCount: 0 });
      if (saves > 0 && saves < 4) expect(await tasks.schedules.get("s")).toMatchObject({ nextAt: at(2) });
      await tasks.schedules.tick();
      expect(await tasks.schedules.get("s")).toMatchObject({ lastAt: at(3), nextAt: at(4), missedCount: 0 });
      expect((await list()).map(({ taskId, status }) => `${taskId} ${status}`).toSorted()).toEqual([
        `s@${at(1)} cancelled`,
        `s@${at(2)} cancelled`,
        `s@${at(3)} queued`,
      ]);
    }
  });

  it("start a task that a killed worker has recorded, even if the schedule is paused next", async () => {
    const { clock, opened, schedules, list } = await setup();
    clock.advance(hour);
    const killed = new TaskManager({ storage: crashAfter(opened(), 1), clock: settableClock(clock) });
    expect(await killed.schedules.tick()).toMatchObject([{ scheduleId: "s", error: { code: "simulated_crash" } }]);
    expect(await list()).toEqual([]);
    await schedules.pause("s");
    expect(ticksOf(await list())).toEqual([at(1)]);
  });

  it("start one task at each tick with several workers", async () => {
    const { opened, clock, schedule, manager, list } = await setup();
    expect(schedule).toMatchObject({
      nextAt: at(1),
      timezone: "UTC",
      overlap: "skip",
      catchUp: "latest",
      paused: false,
    });
    const ran: unknown[] = [];
    const body = oneNode((input) => {
      ran.push(input);
      return "";
    });
    const work = () => new TaskWorker({ tasks: manager(), agents: durableAgent(body, opened(), { clock }) }).run();
    for (let hours = 1; hours <= 3; hours++) {
      clock.advance(hour - 1);
      await Promise.all([work(), work(), work()]);
      expect(ran).toHaveLength(hours - 1);
      clock.advance(1);
      await Promise.all([work(), work(), work()]);
      // The task of a worker that lost the race starts at its next poll.
      await work();
      expect(ran).toHaveLength(hours);
    }
    expect(ran).toEqual([hourly.inputRequest, hourly.inputRequest, hourly.inputRequest]);
    expect(ticksOf(await list()).toSorted()).toEqual([at(1), at(2), at(3)]);
  });

  it.each([
    ["latest", [3], 2],
    ["all", [1, 2, 3], 0],
    ["none", [], 3],
  ] as const)("with catchUp %s after an outage", async (catchUp, started, missed) => {
    const { clock, schedules, list } = await setup({ catchUp, overlap: "cancel" });
    clock.advance(3 * hour + 120_000);
    await schedules.tick();
    expect(ticksOf(await list()).toSorted()).toEqual(started.map(at));
    expect(await schedules.get("s")).toMatchObject({ missedCount: missed, nextAt: at(4) });
    expect((await schedules.get("s"))?.missed).toEqual(
      [1, 2, 3].slice(0, missed).map((n) => ({ at: at(n), reason: "late" })),
    );
  });

  it("skip a tick while the task before is unfinished", async () => {
    const { clock, schedules, list, complete } = await setup();
    for (let n = 0; n < 2; n++) {
      clock.advance(hour);
      await schedules.tick();
    }
    expect(ticksOf(await list())).toEqual([at(1)]);
    expect(await schedules.get("s")).toMatchObject({ missedCount: 1, missed: [{ at: at(2), reason: "overlap" }] });
    await complete(1);
    clock.advance(hour);
    await schedules.tick();
    expect(ticksOf(await list()).toSorted()).toEqual([at(1), at(3)]);
  });

  it("queue the ticks while the task before is unfinished", async () => {
    const { clock, schedules, list, complete } = await setup({ overlap: "queue" });
    for (let n = 0; n < 3; n++) {
      clock.advance(hour);
      await schedules.tick();
    }
    expect(await schedules.get("s")).toMatchObject({ waiting: [at(2), at(3)], lastAt: at(1), missedCount: 0 });
    await complete(1);
    await schedules.tick();
    await schedules.tick();
    expect(ticksOf(await list()).toSorted()).toEqual([at(1), at(2)]);
    await complete(2);
    await schedules.tick();
    expect(await schedules.get("s")).toMatchObject({ waiting: [], lastTaskId: `s@${at(3)}` });
  });

  it.each(["queue", "skip"] as const)("own no schedule while its only due ticks wait: %s", async (overlap) => {
    const { clock, schedules, tasks, complete, list } = await setup({ overlap: "queue" });
    for (let n = 0; n < 2; n++) {
      clock.advance(hour);
      await schedules.tick();
    }
    await tasks.schedule({ ...hourly, overlap });
    const open = vi.spyOn(ShapedLog, "open");
    onTestFinished(() => open.mockRestore());
    for (let n = 0; n < 5; n++) await schedules.tick();
    expect(open).not.toHaveBeenCalled();
    await complete(1);
    await schedules.tick();
    expect(ticksOf(await list()).toSorted()).toEqual([at(1), at(2)]);
    expect(await tasks.schedules.get("s")).toMatchObject({ waiting: [], nextAt: at(3) });
  });

  it("cancel the unfinished task of the tick before", async () => {
    const { clock, schedules, tasks } = await setup({ overlap: "cancel" });
    for (let n = 0; n < 2; n++) {
      clock.advance(hour);
      await schedules.tick();
    }
    expect(await tasks.get(`s@${at(1)}`)).toMatchObject({ status: "cancelled" });
    expect(await tasks.get(`s@${at(2)}`)).toMatchObject({ status: "queued" });
  });

  it("neither lose nor repeat a tick when the clock jumps", async () => {
    const { clock, schedules, list } = await setup({ catchUp: "all", overlap: "cancel" });
    clock.jump(24 * hour);
    await schedules.tick();
    clock.jump(-24 * hour);
    await schedules.tick();
    clock.advance(23 * hour);
    await schedules.tick();
    clock.advance(2 * hour);
    await schedules.tick();
    const ticks = ticksOf(await list());
    expect(new Set(ticks).size).toBe(ticks.length);
    expect(ticks.toSorted()).toEqual(Array.from({ length: 25 }, (_, n) => at(n + 1)).toSorted());
  });

  it("pauses, resumes, runs now, lists and deletes", async () => {
    const { clock, schedules, list, tasks } = await setup();
    expect(await schedules.pause("s")).toMatchObject({ paused: true });
    clock.advance(2 * hour);
    await schedules.tick();
    expect(await list()).toEqual([]);
    expect(await schedules.resume("s")).toMatchObject({ paused: false, nextAt: at(3), missedCount: 0 });
    expect(await schedules.runNow("s")).toMatchObject({ status: "queued", inputRequest: hourly.inputRequest });
    expect(await tasks.schedule({ ...hourly, cron: "30 * * * *" })).toMatchObject({ nextAt: at(2.5) });
    expect((await collect(schedules.list())).map(({ scheduleId }) => scheduleId)).toEqual(["s"]);
    expect(await collect(tasks.list())).toHaveLength(1);
    await schedules.delete("s");
    expect(await schedules.get("s")).toBeUndefined();
    for (const act of ["delete", "pause", "runNow"] as const)
      await expect(schedules[act]("s")).rejects.toMatchObject({ code: "schedule_not_found", scheduleId: "s" });
  });

  it("start each tick once if a worker stops between the task and the record of the tick", async () => {
    const { opened, clock, list, schedules } = await setup({ catchUp: "all", overlap: "cancel" });
    let stops = false;
    const stopping = delegatingLog(opened().log, {
      open: async (id, owner) => {
        const owned = await opened().log.open(id, owner);
        if (!id.startsWith("schedule:") || !stops) return owned;
        return new Proxy(owned, {
          get: (target, name) => {
            if (name === "append") return () => Promise.reject(new Error("killed"));
            const value: unknown = Reflect.get(target, name);
            return typeof value === "function" ? value.bind(target) : value;
          },
        });
      },
    });
    const mortal = new TaskManager({
      storage: new LogPersistenceStorageProvider(stopping),
      clock: settableClock(clock),
    });
    const count = cases(12, 1_000);
    for (let n = 1; n <= count; n++) {
      clock.advance(hour);
      stops = n % 3 !== 0;
      const ticks = [mortal.schedules.tick(), schedules.tick(), mortal.schedules.tick()];
      await Promise.allSettled(ticks);
    }
    stops = false;
    await schedules.tick();
    expect(ticksOf(await list()).toSorted()).toEqual(Array.from({ length: count }, (_, n) => at(n + 1)).toSorted());
  });

  it.each([
    [{ cron: "often" }, 'at "cron": expected a cron expression such as "0 3 * * *", received "often"'],
    [{ timezone: "Mars" }, 'at "timezone": expected an IANA time zone such as "Europe/Paris", received "Mars"'],
    [{ timezone: "" }, 'at "timezone": expected an IANA time zone such as "Europe/Paris", received ""'],
    [{ scheduleId: "" }, 'at "scheduleId"'],
    [{ key: "customer" }, 'Invalid new schedule: at "key": needs a queue'],
    [{ retries: 1, retryDelayMs: 8 * 86_400_000 }, 'at "retryDelayMs": expected at most'],
  ])("refuses %j", async (wrong, message) => {
    const { tasks, schedules } = await setup();
    await expect(tasks.schedule({ ...hourly, scheduleId: "other", ...wrong })).rejects.toThrow(message);
    expect(await collect(schedules.list())).toHaveLength(1);
  });
});

it("a tick reads the last task as often with 40 waiting ticks as with 10", async () => {
  const readsAmong = async (waiting: number) => {
    const { log } = new InMemoryPersistenceStorageProvider();
    let reads = 0;
    const read: RecordLog["read"] = (agentId, options) => {
      if (agentId.startsWith("s@")) reads++;
      return log.read(agentId, options);
    };
    const clock = new SimulatedClock(start);
    const storage = new LogPersistenceStorageProvider(delegatingLog(log, { read }));
    const tasks = new TaskManager({ storage, clock: settableClock(clock) });
    await tasks.schedule({ ...hourly, overlap: "queue", catchUp: "all" });
    clock.advance((1 + waiting) * hour);
    await tasks.schedules.tick();
    expect((await tasks.schedules.get("s"))?.waiting).toHaveLength(waiting);
    await tasks.cancel(`s@${at(1)}`);
    reads = 0;
    await tasks.schedules.tick();
    expect(await tasks.schedules.get("s")).toMatchObject({ lastAt: at(2) });
    return reads;
  };
  expect(await readsAmong(40)).toBe(await readsAmong(10));
});

describe("the plan of due ticks", () => {
  it("contains each due tick once, wherever the looks are", () => {
    const steps = fc.array(fc.integer({ min: -200, max: 400 }), { maxLength: 40 });
    fc.assert(
      fc.property(steps, fc.constantFrom("latest", "all", "none"), (minutes, catchUp) => {
        const fields = { kind: "schedule", cron: "*/7 * * * *", timezone: "Europe/Paris", overlap: "skip" } as const;
        const rest = { task: { taskName: "t" }, input: 1, missedCount: 0, missed: [], waiting: [] };
        let next: number | undefined = start;
        let [now, latest] = [start, 0];
        const seen: number[] = [];
        for (const step of minutes) {
          now += step * 60_000;
          latest = Math.max(latest, now);
          for (let more = true; more;) {
            const plan = planTicks({ ...fields, ...rest, catchUp, ...(next !== undefined && { next }) }, now);
            seen.push(...[...plan.runs, ...plan.missed].toSorted((a, b) => a - b));
            next = plan.next;
            more = next !== undefined && next <= now;
          }
        }
        expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b));
        expect(next ?? 0).toBeGreaterThan(Math.min(latest, now));
      }),
    );
  });
});
