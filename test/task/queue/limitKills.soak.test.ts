import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { TaskManager } from "agent-persistence/task";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { bundleWorker } from "../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../kill/temporaryDirectory.ts";
import { cases } from "../../soak/cases.ts";
import { enginesOfProcesses } from "../../storage/engines/enginesOfProcesses.ts";
import { storageAt } from "../../storage/engines/storageAt.ts";
import { collect, testDirectory } from "../../storage/file/support/fixture.ts";
import type { LimitProcessOptions } from "./limitProcess.ts";

describe("limits of queues in several processes", () => {
  const children = new Set<ChildProcess>();
  const outputs: Promise<string>[] = [];
  let program = "";
  let programs = "";
  beforeAll(async () => {
    programs = await temporaryDirectory();
    program = await bundleWorker(programs, "../task/queue/limitProcess.ts");
  });
  afterAll(() => rm(programs, { recursive: true, force: true }));
  afterEach(async () => {
    for (const child of children) await kill(child);
  });

  function start(options: LimitProcessOptions): void {
    const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ["ignore", "pipe", "inherit"] });
    children.add(child);
    outputs.push(text(child.stdout));
  }

  async function kill(child: ChildProcess): Promise<void> {
    children.delete(child);
    const ended = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
    child.kill("SIGKILL");
    await ended;
  }

  it.each(enginesOfProcesses)("hold $name, whatever is killed, and no place is lost", async ({ place: makePlace }) => {
    const place = await makePlace();
    const [processes, count] = [cases(3, 10), cases(8, 200)];
    const tasks = new TaskManager({ storage: await storageAt(place) });
    await tasks.createMany(
      Array.from({ length: count }, (_, n) => {
        const key = "abcd"[n % 4] ?? "a";
        return { taskName: "t", taskId: `t${n}`, inputRequest: `${key}-${n}`, queue: "q", key };
      }),
    );
    const told = { place, limits: { concurrency: 3, keyConcurrency: 1 }, directory: await testDirectory() };
    for (let n = 0; n < processes; n++) start(told);
    const left = async () => (await collect(tasks.list())).filter(({ status }) => status !== "completed").length;
    for (let open = count; open > 0;) {
      await expect.poll(left).toBeLessThan(open);
      open = await left();
      const [victim] = [...children].slice(open % processes);
      if (!victim || open === 0) continue;
      await kill(victim);
      start(told);
    }
    for (const child of children) await kill(child);
    expect((await Promise.all(outputs.splice(0))).join("")).toBe("");
  });
});
