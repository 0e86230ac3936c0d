import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { TaskManager } from "agent-persistence/task";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { bundleWorker } from "../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../kill/temporaryDirectory.ts";
import { wholeSoak } from "../../soak/cases.ts";
import { enginesOfProcesses } from "../../storage/engines/enginesOfProcesses.ts";
import { storageAt } from "../../storage/engines/storageAt.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { fastClock, type ScheduleProcessOptions } from "./scheduleProcess.ts";

const minute = 60_000;

describe("schedules in several processes", () => {
  const children = new Set<ChildProcess>();
  let program = "";
  let programs = "";
  beforeAll(async () => {
    programs = await temporaryDirectory();
    program = await bundleWorker(programs, "../task/schedule/scheduleProcess.ts");
  });
  afterAll(() => rm(programs, { recursive: true, force: true }));
  afterEach(async () => {
    for (const child of children) await kill(child);
  });

  function start(options: ScheduleProcessOptions): void {
    children.add(
      spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ["ignore", "ignore", "inherit"] }),
    );
  }

  async function kill(child: ChildProcess): Promise<void> {
    children.delete(child);
    const ended = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
    child.kill("SIGKILL");
    await ended;
  }

  it.each(enginesOfProcesses)(
    "start each tick once $name, whatever is killed",
    async ({ place: makePlace, isSlow }) => {
      const place = await makePlace();
      const [processes, ticks] = wholeSoak ? (isSlow ? [3, 60] : [10, 1_000]) : [3, isSlow ? 15 : 30];
      const pace = isSlow ? { speed: 40, leaseMs: 3_000 } : { speed: 1_000, leaseMs: 2_000 };
      const told = { place, startedAt: Date.now(), ...pace };
      const clock = fastClock(told);
      const tasks = new TaskManager({ storage: await storageAt(place), clock });
      const every = { cron: "* * * * *", taskName: "t", inputRequest: "x", catchUp: "all" } as const;
      const { nextAt: first = "" } = await tasks.schedule({ ...every, scheduleId: "s" });
      for (let n = 0; n < processes; n++) start(told);
      const decided = async () =>
        (Date.parse((await tasks.schedules.get("s"))?.nextAt ?? "") - Date.parse(first)) / minute;
      for (let seen = 0; seen < ticks;) {
        await expect.poll(decided).toBeGreaterThan(seen);
        seen = await decided();
        const [victim] = [...children].slice(seen % processes);
        if (victim) await kill(victim);
        start(told);
      }
      await expect
        .poll(() =>
          tasks.schedules.pause("s").then(
            () => true,
            () => false,
          ),
        )
        .toBe(true);
      const { nextAt = "", missed, missedCount = 0 } = (await tasks.schedules.get("s")) ?? {};
      const created = (await collect(tasks.list())).map(({ taskId }) => taskId);
      const all = (Date.parse(nextAt) - Date.parse(first)) / minute;
      expect(new Set(created).size).toBe(created.length);
      expect(created.length + missedCount).toBe(all);
      for (const { at, reason } of missed ?? []) {
        expect(reason).toBe("overlap");
        expect(created).not.toContain(`s@${at}`);
      }
      await expect
        .poll(async () => (await collect(tasks.list())).filter(({ status }) => status !== "completed"))
        .toEqual([]);
    },
  );
});
