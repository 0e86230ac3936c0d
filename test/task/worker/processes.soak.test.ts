import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { TaskManager, type TaskStatus } from "agent-persistence/task";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { bundleWorker } from "../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../kill/temporaryDirectory.ts";
import type { SharedEngine } from "../../storage/engines/engines.ts";
import { enginesOfProcesses } from "../../storage/engines/enginesOfProcesses.ts";
import { type StoragePlace, storageAt } from "../../storage/engines/storageAt.ts";
import { testDirectory } from "../../storage/file/support/fixture.ts";
import type { WorkerProcessOptions } from "./workerProcess.ts";

const children = new Set<ChildProcess>();

/** A real process; what it says is told line by line. */
async function work(program: string, options: WorkerProcessOptions, hear: (line: string, child: ChildProcess) => void) {
  const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ["ignore", "pipe", "inherit"] });
  children.add(child);
  const ended = once(child, "exit");
  for await (const line of createInterface({ input: child.stdout })) hear(line, child);
  await ended;
  children.delete(child);
}

describe("workers in two processes", () => {
  let program = "";
  let programs = "";
  beforeAll(async () => {
    programs = await temporaryDirectory();
    program = await bundleWorker(programs, "../task/worker/workerProcess.ts");
  });
  afterAll(() => rm(programs, { recursive: true, force: true }));
  afterEach(() => {
    for (const child of children) child.kill("SIGKILL");
  });

  async function created(count: number, engine?: SharedEngine) {
    const directory = await testDirectory();
    const place: StoragePlace = (await engine?.place()) ?? { engine: "file", directory };
    const tasks = new TaskManager({ storage: await storageAt(place) });
    const ids = Array.from({ length: count }, (_unused, index) => `t${String(index).padStart(2, "0")}`);
    for (const taskId of ids) await tasks.create({ taskId, taskName: "echo", inputRequest: taskId });
    const statuses = async () => {
      const found: TaskStatus[] = [];
      for await (const { status } of tasks.list()) found.push(status);
      return found;
    };
    return { directory, place, ids, tasks, statuses };
  }

  it.each(enginesOfProcesses)("share their tasks $name: each runs once", async (engine) => {
    const { place, ids, statuses } = await created(engine.isSlow ? 8 : 20, engine);
    const lines: string[] = [];
    // A process that comes second to a task may have said that it resumes it, and then finds it owned.
    const hear = (line: string) => !line.startsWith("resumes") && lines.push(line);
    await Promise.all([1, 2].map(() => work(program, { place }, hear)));
    expect(lines.toSorted()).toEqual([...ids.map((id) => `began ${id}`), ...ids.map((id) => `ran ${id} completed`)]);
    expect(await statuses()).toEqual(ids.map(() => "completed"));
  });

  it.each(enginesOfProcesses)("recover tasks of a killed worker in $name", async (engine) => {
    const { place, ids, statuses } = await created(4, engine);
    const lines: string[] = [];
    await work(program, { place, hangsAt: "t02" }, (line, child) => {
      if (line === "began t02") child.kill("SIGKILL");
    });
    expect(await statuses()).toContain("in_progress");
    await work(program, { place }, (line) => lines.push(line));
    expect(lines).toContain("resumes t02 at work, prepared");
    expect(lines).toContain("recovered t02 completed");
    expect(await statuses()).toEqual(ids.map(() => "completed"));
  });

  it("a task that kills every process that runs it fails after five attempts, and the others run", async () => {
    const { place, tasks, statuses } = await created(3);
    const lines: string[] = [];
    for (let restart = 0; restart < 7; restart++)
      await work(program, { place, concurrency: 1, diesAt: "t01" }, (line) => lines.push(line));
    expect(lines.filter((line) => line === "began t01")).toHaveLength(5);
    expect(await statuses()).toEqual(["completed", "failed", "completed"]);
    expect(await tasks.get("t01")).toMatchObject({ data: { errorType: "TooManyAttemptsError" } });
  });

  it.each([
    ["cancel", "cancelled", { reason: "enough" }],
    ["pause", "paused", { pauseReason: "enough" }],
  ] as const)(
    "release a task that another process wants to %s, and continue with others",
    async (verb, status, data) => {
      const { place, tasks } = await created(3);
      const lines: string[] = [];
      let moved: Promise<unknown> = Promise.resolve();
      const move = async (owner: number | undefined) => {
        const busy: unknown = await tasks.complete("t01", { output: 1 }).catch((error: unknown) => error);
        expect(busy).toMatchObject({ code: "agent_busy", agentId: "t01", owner: { processId: owner } });
        await tasks[verb]("t01", "enough");
      };
      await work(program, { place, concurrency: 1, leaseMs: 600, hangsAt: "t01" }, (line, { pid }) => {
        lines.push(line);
        if (line === "began t01") moved = move(pid);
      });
      await moved;
      expect(lines).toEqual([
        "began t00",
        "ran t00 completed",
        "began t01",
        "ran t01 interrupted",
        "began t02",
        "ran t02 completed",
      ]);
      expect(await tasks.get("t01")).toMatchObject({ status, data });
      if (verb === "cancel") return;
      await tasks.resume("t01");
      await work(program, { place }, (line) => lines.push(line));
      expect(lines.slice(-2)).toEqual(["began t01", "recovered t01 completed"]);
    },
  );

  it("pause a task of a killed worker if a required file changed, and continue it after a choice", async () => {
    const { directory, place, ids, tasks, statuses } = await created(3);
    const needs = join(directory, "needed.txt");
    await writeFile(needs, "as it was");
    await work(program, { place, needs, concurrency: 1, hangsAt: "t01" }, (line, child) => {
      if (line === "began t01") child.kill("SIGKILL");
    });
    await writeFile(needs, "another");
    const lines: string[] = [];
    await work(program, { place, needs }, (line) => lines.push(line));
    expect(lines).toContain("recovered t01 paused");
    expect((await statuses()).toSorted()).toEqual(["completed", "completed", "paused"]);
    expect(await tasks.get("t01")).toMatchObject({ data: { pauseReason: expect.stringContaining(needs) as string } });
    await tasks.resume("t01");
    await work(program, { place, needs, choice: "use_current" }, (line) => lines.push(line));
    expect(lines.slice(-3)).toEqual(["resumes t01 at work, prepared", "began t01", "recovered t01 completed"]);
    expect(await statuses()).toEqual(ids.map(() => "completed"));
  });
});
