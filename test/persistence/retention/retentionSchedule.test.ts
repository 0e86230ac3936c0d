import {
  InMemoryPersistenceStorageProvider,
  InvalidInputError,
  persistence,
  strategy,
  type PersistenceEvent,
} from "agent-persistence";
import { diskUsage, retentionSchedule, RetentionSchedule, type RetentionScheduleOptions } from "agent-persistence/task";
import { SimulatedClock } from "agent-persistence/testing";
import { tmpdir } from "node:os";
import { describe, expect, it, vi } from "vitest";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { delegatingOwner } from "../../testing/delegatingLog.ts";

const minute = 60 * 1000;
const hour = 60 * minute;
const day = 24 * hour;
/** 01:00 local time, wherever this runs. */
const night = new Date(2026, 0, 10, 1).getTime();

const counting = () => {
  let left = 30;
  return strategy<string, string>("counting", (graph) => {
    const step = graph.node("step", async (input: string) => input);
    graph.edge(graph.start, step);
    graph.edge(step, step, { when: () => left-- > 0 });
    graph.edge(step, graph.finish, { when: () => left < 0 });
  });
};

describe.each(logStorages)("$name: a retention schedule", ({ open }) => {
  async function scheduled(options: RetentionScheduleOptions = {}) {
    const storage = (await open())();
    const clock = new SimulatedClock(night);
    const events: PersistenceEvent[] = [];
    const agent = durableAgent(counting(), storage, { clock, onEvent: (event) => void events.push(event) });
    await agent.run("go");
    const make = () => new RetentionSchedule(agent, { ...options, clock });
    /** What a schedule does that is started, gets so much time, and has done what it began. */
    const after = async (...advances: readonly number[]) => {
      const schedule = make();
      schedule.start();
      for (const ms of advances) clock.advance(ms);
      await schedule[Symbol.asyncDispose]();
      return events.filter(({ type }) => type === "checkpoint_pruned").length;
    };
    return { agent, storage, clock, events, make, after };
  }

  it("prunes daily at 03:00 local time, and not a millisecond earlier", async () => {
    const { after, events } = await scheduled();
    expect(await after(2 * hour - 1)).toBe(0);
    expect(await after(0)).toBe(0);
    expect(await after(1)).toBe(1);
    expect(events.at(-1)).toMatchObject({ type: "checkpoint_pruned", agentId: "a", dropped: false });
  });

  it("prunes at the times of a cron expression or of a nickname", async () => {
    const early = await scheduled({ schedule: "30 1 * * *" });
    expect([await early.after(30 * minute - 1), await early.after(1)]).toEqual([0, 1]);
    // 10 January 2026 is a Saturday.
    const weekdays = await scheduled({ schedule: "0 3 * * MON-FRI" });
    expect([await weekdays.after(day + 3 * hour), await weekdays.after(day)]).toEqual([0, 1]);
    const nickname = await scheduled({ schedule: "@monthly" });
    expect([await nickname.after(21 * day), await nickname.after(2 * day)]).toEqual([0, 1]);
  });

  it("in the configuration starts when the feature is installed", async () => {
    const storage = (await open())();
    const clock = new SimulatedClock(night);
    await durableAgent(counting(), storage, { clock }).run("go");
    let told: () => void;
    const pruned = new Promise<void>((resolve) => (told = resolve));
    const agent = durableAgent(counting(), storage, {
      clock,
      retentionSchedule: retentionSchedule({ clock }),
      onEvent: ({ type }) => void (type === "checkpoint_pruned" && told()),
    });
    const prune = vi.spyOn(persistence(agent), "prune");
    clock.advance(2 * hour);
    await pruned;
    // The event comes before everything is removed.
    await prune.mock.results[0]?.value;
    expect(() => retentionSchedule({ schedule: "never" })).toThrowError(InvalidInputError);
  });

  it("that is false never prunes", async () => {
    const never = await scheduled({ schedule: false });
    expect(await never.after(3 * day)).toBe(0);
  });

  it("queues two scheduled times behind a running pruning and skips the others", async () => {
    const { make, agent, clock } = await scheduled({ schedule: "* * * * *" });
    const prune = vi.spyOn(persistence(agent), "prune");
    const schedule = make();
    schedule.start();
    clock.advance(30 * minute);
    await schedule[Symbol.asyncDispose]();
    expect(prune).toHaveBeenCalledTimes(3);
  });

  it("prunes when the disk becomes too full, and not earlier", async () => {
    let use = 0.8;
    const { after } = await scheduled({ schedule: false, diskUsage: () => use });
    expect(await after(day)).toBe(0);
    use = 0.81;
    expect(await after(5 * minute - 1)).toBe(0);
    expect(await after(5 * minute)).toBe(1);
  });

  it("prunes once while the disk stays too full, and again when it fills again", async () => {
    const uses = [0.9, 0.95, 0.9, 0.5, 0.9, 0.9];
    const left = [...uses];
    const prunedBefore: number[] = [];
    const probe = () => {
      prunedBefore.push(prune.mock.calls.length);
      return left.shift() ?? 0;
    };
    const { make, agent, clock } = await scheduled({ schedule: false, diskUsage: probe, checkEveryMs: minute });
    const prune = vi.spyOn(persistence(agent), "prune");
    const schedule = make();
    schedule.start();
    await vi.waitFor(
      () => {
        // A look during a pruning does not read the disk.
        if (prunedBefore.length < uses.length) clock.advance(minute);
        expect(prunedBefore).toHaveLength(uses.length);
      },
      { interval: 1, timeout: 600_000 },
    );
    await schedule[Symbol.asyncDispose]();
    expect(prunedBefore).toEqual([0, 1, 1, 1, 1, 2]);
    expect(prune).toHaveBeenCalledTimes(2);
  });

  it("does nothing before it starts and after it is disposed", async () => {
    const { make, clock, events } = await scheduled({ diskUsage: () => 1 });
    const schedule = make();
    clock.advance(3 * day);
    await schedule[Symbol.asyncDispose]();
    clock.advance(3 * day);
    expect(events.filter(({ type }) => type === "checkpoint_pruned")).toEqual([]);
    expect(() => schedule.start()).toThrow("was disposed");
  });

  it("drops no agent early when the clock jumps, and follows the new time", async () => {
    const { make, clock, events, storage } = await scheduled();
    const schedule = make();
    schedule.start();
    clock.jump(-30 * day);
    clock.advance(hour);
    clock.jump(60 * day);
    clock.advance(5 * minute);
    clock.jump(-day);
    clock.advance(2 * hour);
    await schedule[Symbol.asyncDispose]();
    expect(events.filter(({ type }) => type === "checkpoint_pruned")).toMatchObject([{ dropped: false }]);
    const listed: string[] = [];
    for await (const { agentId } of storage.log.list()) listed.push(agentId);
    expect(listed).toEqual(["a"]);
  });

  it("drops a finished agent at the scheduled time, once its retention time is over", async () => {
    const { after, events } = await scheduled();
    await after(...Array.from({ length: 8 * 24 }, () => hour));
    expect(events.filter(({ type }) => type === "checkpoint_pruned").at(-1)).toMatchObject({ dropped: true });
  });

  it("reports a failed disk usage, list or agent, and continues", async () => {
    const broken = new Error("no disk");
    const probe = vi.fn<() => Promise<number>>(async () => 0).mockRejectedValueOnce(broken);
    const { after, events, storage } = await scheduled({ diskUsage: probe });
    const fail = (): never => {
      throw broken;
    };
    const told = () =>
      events.flatMap((event) => (event.type === "pruning_failed" ? [[event.agentId, event.error]] : []));
    expect([await after(5 * minute), told().length]).toEqual([0, 1]);
    vi.spyOn(storage.log, "list").mockImplementationOnce(fail);
    expect([await after(2 * hour), told().length]).toEqual([0, 2]);
    vi.spyOn(storage.log, "read").mockImplementationOnce(fail);
    expect([await after(day, day), told().length]).toEqual([1, 3]);
    expect(told()).toEqual([0, 1, 2].map(() => ["a", broken]));
  });

  it("reports bytes that it could not remove, and removes them the next day", async () => {
    const { after, events, storage } = await scheduled();
    const full = new Error("no space");
    const take = storage.log.open.bind(storage.log);
    vi.spyOn(storage.log, "open").mockImplementationOnce(async (...given) =>
      delegatingOwner(await take(...given), { prune: () => Promise.reject(full) }),
    );
    await after(2 * hour);
    const told = events.filter(({ type }) => type === "checkpoint_pruned" || type === "pruning_failed");
    expect(told).toMatchObject([{ type: "checkpoint_pruned" }, { type: "pruning_failed", agentId: "a", error: full }]);
    expect(await storage.log.unremovedBytes?.("a")).toBeGreaterThan(0);
    await after(day);
    expect(await storage.log.unremovedBytes?.("a")).toBe(0);
  });
});

it("a retention schedule of an agent without onEvent reports its errors as process warnings", async () => {
  const warnings = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  const clock = new SimulatedClock(night);
  const agent = durableAgent(counting(), new InMemoryPersistenceStorageProvider(), { clock });
  const schedule = new RetentionSchedule(agent, { clock, diskUsage: () => Promise.reject(new Error("no disk")) });
  schedule.start();
  clock.advance(5 * minute);
  await schedule[Symbol.asyncDispose]();
  expect(warnings.mock.calls).toMatchObject([[expect.stringContaining("no disk"), { code: "pruning_failed" }]]);
  warnings.mockRestore();
});

it("a retention schedule refuses wrong cron expressions, limits and intervals", () => {
  const agent = durableAgent(counting(), new InMemoryPersistenceStorageProvider());
  const make = (options: RetentionScheduleOptions) => () => new RetentionSchedule(agent, options);
  for (const schedule of ["3:00", "60 3 * * *", "0 3 * *", "@reboot", "0 0 3 * * * *", "every day"])
    expect(make({ schedule })).toThrow(`"0 3 * * *", or false, received "${schedule}"`);
  for (const diskUsageAbove of [0, -1, 1.1, 80, Number.NaN])
    expect(make({ diskUsageAbove })).toThrow(/Invalid options.*"diskUsageAbove"/);
  for (const checkEveryMs of [0, -1, Number.NaN, Infinity])
    expect(make({ checkEveryMs })).toThrow(/Invalid options.*"checkEveryMs"/);
});

it("diskUsage measures how full a disk is", async () => {
  const use = await diskUsage(tmpdir())();
  expect(use).toBeGreaterThan(0);
  expect(use).toBeLessThanOrEqual(1);
  await expect(diskUsage("/no/such/place")()).rejects.toThrow("ENOENT");
});
