import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { OwnershipLostError, StorageError } from "agent-persistence";
import { StopRequestedError } from "agent-persistence/feature";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { TaskManager, TaskWorker, type FileReservations, type TaskOutcome } from "agent-persistence/task";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it, vi } from "vitest";
import { retryAfterMs } from "../../../src/task/worker/TaskBackoff.ts";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { memory, type Opened } from "../../persistence/support/storages.ts";
import { segmentPaths, testDirectory } from "../../storage/file/support/fixture.ts";
import { oneNode, type Body } from "./oneNode.ts";

const pollMs = 1000;

/** A worker that polls by a simulated clock, which advances while a test waits for a condition. */
class Polling {
  readonly clock = new SimulatedClock();
  readonly outcomes: TaskOutcome[] = [];
  readonly tasks: TaskManager;
  readonly #opened: Opened;
  readonly #stop = new AbortController();
  #run: Promise<void> = Promise.resolve();

  constructor(opened: Opened) {
    this.#opened = opened;
    this.tasks = new TaskManager({ storage: opened(), clock: this.clock });
  }

  start(body: Body, reservations?: FileReservations): void {
    const worker = new TaskWorker({
      tasks: this.tasks,
      agents: durableAgent(oneNode(body), this.#opened(), { clock: this.clock }),
      reservations,
      onOutcome: (outcome) => void this.outcomes.push(outcome),
    });
    this.#run = worker.run({ signal: this.#stop.signal, pollMs });
  }

  async until(isSo: () => boolean, stepMs = 100): Promise<void> {
    await vi.waitFor(
      () => {
        if (isSo()) return;
        this.clock.advance(stepMs);
        throw new Error(`The condition does not hold; the outcomes are ${JSON.stringify(this.outcomes)}.`);
      },
      { interval: 1, timeout: 600_000 },
    );
  }

  async end(): Promise<readonly string[]> {
    this.#stop.abort();
    await this.#run;
    return this.outcomes.map(({ outcome }) => outcome);
  }
}

// In memory alone: the clock that a test moves would outrun real files.
describe("a worker that polls", () => {
  const open = async () => memory.open();

  it("a task that was paused while it ran is claimed by a polling worker only after it is resumed", async () => {
    const at = new Polling(await open());
    await at.tasks.create({ taskId: "t", taskName: "n", inputRequest: "in" });
    let entered = 0;
    at.start((input, { signal }) => {
      if (++entered > 1) return input;
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    });
    await at.until(() => entered === 1);
    let isPaused = false;
    const paused = at.tasks.pause("t", "lunch").then(() => (isPaused = true));
    await at.until(() => isPaused);
    await paused;
    const later = at.clock.now() + 10 * pollMs;
    await at.until(() => at.clock.now() > later);
    expect(entered).toBe(1);
    await at.tasks.resume("t");
    await at.until(() => at.outcomes.length === 2);
    expect(await at.end()).toEqual(["interrupted", "completed"]);
  });

  it("a polling worker retries a task with a failed reservation at growing intervals", async () => {
    const at = new Polling(await open());
    const reserves = [{ path: "a", operation: "write" }] as const;
    for (const taskId of ["one", "two"]) await at.tasks.create({ taskId, taskName: "n", inputRequest: "in", reserves });
    const tries: number[] = [];
    const begin = at.clock.monotonic();
    at.start((input) => input, {
      acquire: async (_files, { owner }) => {
        if (owner === "one") tries.push(Math.floor((at.clock.monotonic() - begin) / pollMs));
        if (tries.length < 5) throw new StorageError("full", "write", "locks");
        return { release: async () => {} };
      },
    });
    await at.until(() => tries.length === 3, 10);
    expect(await at.tasks.get("one")).toMatchObject({ status: "queued" });
    await at.until(() => at.outcomes.filter(({ outcome }) => outcome === "completed").length === 2, 10);
    expect(new Set(await at.end())).toEqual(new Set(["interrupted", "completed"]));
    const gaps = tries.map((at, index) => at - (tries[index - 1] ?? at)).slice(1);
    expect(gaps.every((gap, index) => gap >= 2 ** index)).toBe(true);
  });
});

it.each([
  [new StorageError("full", "write", "p"), [1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 64_000]],
  [new OwnershipLostError("t", 1), [1000, 2000]],
  [new StopRequestedError("t", "lunch"), [30_000, 30_000]],
  [new RangeError("damaged"), [Infinity, Infinity]],
])("the time until the next try: %s", (error, expected) => {
  expect(expected.map((_unused, index) => retryAfterMs(error, index + 1, 1000))).toEqual(expected);
  const isStop = error instanceof StopRequestedError;
  expect(retryAfterMs(error, 1, undefined)).toBe(isStop ? 30_000 : Infinity);
});

const damages: readonly (readonly [string, string, (segment: string) => Promise<void>])[] = [
  [
    "a newer format",
    "unsupported_format",
    async (segment) => {
      const text = await readFile(segment, "utf8");
      await writeFile(segment, text.replace('"format":2', '"format":3'));
    },
  ],
  [
    "a damaged first line",
    "corrupt_log",
    async (segment) => {
      const bytes = await readFile(segment);
      bytes[20]! ^= 1;
      await writeFile(segment, bytes);
    },
  ],
  [
    "a directory instead of a segment",
    "storage_failed",
    async (segment) => {
      await rm(segment);
      await mkdir(segment);
    },
  ],
];

describe.each(["queued", "in_progress"])("an unreadable task in the status %s", (status) => {
  it.each(damages)(
    "a worker runs the other tasks and reports the unreadable one as interrupted: %s",
    async (_name, code, damage) => {
      const directory = await testDirectory();
      const opened = () => new FilePersistenceStorageProvider({ directory });
      const created = new TaskManager({ storage: opened() });
      for (const taskId of ["bad", "good"]) await created.create({ taskId, taskName: "n", inputRequest: taskId });
      if (status === "in_progress") await created.start("bad");
      for (const segment of (await segmentPaths(directory, "bad")).slice(-1)) await damage(segment);
      const tasks = new TaskManager({ storage: opened() });
      const outcomes: TaskOutcome[] = [];
      const agents = durableAgent(
        oneNode((input) => input),
        opened(),
      );
      await new TaskWorker({ tasks, agents, onOutcome: (outcome) => void outcomes.push(outcome) }).run();
      expect(outcomes).toMatchObject([
        { taskId: "bad", outcome: "interrupted", error: { code } },
        { taskId: "good", outcome: "completed" },
      ]);
      const listed: string[] = [];
      for await (const { taskId } of tasks.list()) listed.push(taskId);
      expect(listed.filter((taskId) => taskId === "good")).toEqual(["good"]);
    },
  );
});
