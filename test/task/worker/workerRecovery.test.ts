import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PersistenceEvent } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { LogPersistenceStorageProvider, type AgentSummary } from "agent-persistence/storage";
import { TaskManager, TaskWorker, type RecoveryHandlers, type TaskOutcome } from "agent-persistence/task";
import { describe, expect, it } from "vitest";
import { Fault, Stopped } from "../../persistence/support/durableAgent.ts";
import { requiringAgent } from "../../persistence/support/requiringAgent.ts";
import { logStorages, type Opened } from "../../persistence/support/storages.ts";
import { TestEnvironment } from "../../persistence/support/TestEnvironment.ts";
import { agentPath, collect, testDirectory } from "../../storage/file/support/fixture.ts";
import { delegatingLog } from "../../testing/delegatingLog.ts";

/** Tasks of which a crash left one in progress at its second node. */
class Scene {
  readonly environment = TestEnvironment.readable();
  readonly fault = new Fault();
  readonly outcomes: TaskOutcome[] = [];
  readonly told: PersistenceEvent[] = [];
  readonly opened: Opened;
  readonly tasks: TaskManager;

  constructor(opened: Opened) {
    this.opened = opened;
    this.tasks = new TaskManager({ storage: opened() });
  }

  agent(onEvent: (event: PersistenceEvent) => void = (event) => void this.told.push(event)) {
    return requiringAgent(this.opened(), this.environment, { fault: this.fault, onEvent });
  }

  async cut(taskId: string): Promise<this> {
    await this.tasks.create({ taskId, taskName: "import", inputRequest: taskId });
    const stop = new AbortController();
    const agent = this.agent((event) => {
      if (event.type === "checkpoint_saved" && event.nodeId === "second") stop.abort(new Stopped());
    });
    const ended: unknown = await agent
      .resume({ agentId: taskId, signal: stop.signal })
      .catch((error: unknown) => error);
    if (!(ended instanceof Stopped)) throw new Error("The agent was not cut short.", { cause: ended });
    this.fault.repair();
    return this;
  }

  change(): void {
    this.environment.files.set("/project/read.txt", "r2");
  }

  /** Works until nothing is left, and says what came of each task. */
  async work(handlers: RecoveryHandlers = {}): Promise<readonly TaskOutcome[]> {
    const { tasks } = this;
    const onOutcome = (outcome: TaskOutcome) => void this.outcomes.push(outcome);
    await new TaskWorker({ tasks, agents: this.agent(), onOutcome, ...handlers }).run();
    return this.outcomes.splice(0);
  }
}

describe.each(logStorages)("$name: a worker recovers a task", ({ open }) => {
  const scene = async () => new Scene(await open()).cut("t");
  const untouched = { kind: "file_modified_externally", path: "read.txt", options: ["use_current", "abort"] };

  it("and reports the state from which it continues", async () => {
    const at = await scene();
    expect(await at.work()).toMatchObject([{ taskId: "t", recovered: true, outcome: "completed" }]);
    expect(at.told.filter(({ type }) => type === "recovery_notice")).toMatchObject([
      { agentId: "t", task: "import", nodeId: "second", iteration: 1, progress: 40, progressSummary: "half of it" },
    ]);
  });

  it("and sends no notice for a task that another worker finished after it was listed", async () => {
    const at = await scene();
    const { log } = (at.opened as Opened<LogPersistenceStorageProvider>)();
    const listed: AgentSummary[] = await collect(log.list({ status: "in_progress" }));
    expect(listed).toHaveLength(1);
    await at.work();
    at.told.splice(0);
    async function* list({ status }: Parameters<typeof log.list>[0] = {}) {
      if (status === "in_progress") yield* listed.splice(0);
    }
    const tasks = new TaskManager({ storage: new LogPersistenceStorageProvider(delegatingLog(log, { list })) });
    await new TaskWorker({ tasks, agents: at.agent() }).run();
    expect([listed, at.told]).toEqual([[], []]);
  });

  it("or pauses it if the environment changed and no handler exists, and the others run", async () => {
    const at = await scene();
    const { tasks, environment } = at;
    at.change();
    await tasks.create({ taskId: "next", taskName: "import", inputRequest: "in" });
    expect(await at.work()).toMatchObject([
      { taskId: "t", outcome: "paused", error: { code: "environment_mismatch", mismatches: [untouched] } },
      { taskId: "next", outcome: "completed" },
    ]);
    expect(await tasks.get("t")).toMatchObject({
      status: "paused",
      data: {
        pauseReason: expect.stringContaining(
          "read.txt was changed since the checkpoint was saved (use_current, abort)",
        ) as string,
        resumeInstructions: expect.stringContaining("onEnvironmentMismatch") as string,
      },
    });
    expect(await at.work()).toEqual([]);
    await tasks.resume("t");
    expect(await at.work()).toMatchObject([{ taskId: "t", outcome: "paused" }]);
    environment.files.set("/project/read.txt", "r1");
    await tasks.resume("t");
    expect(await at.work()).toMatchObject([{ taskId: "t", outcome: "completed", output: "t" }]);
  });

  it("by the handler's choice, which gets the agent id", async () => {
    const at = await scene();
    at.change();
    const asked: unknown[] = [];
    const outcomes = await at.work({
      onEnvironmentMismatch: ({ kind }, options, { agentId }) => {
        asked.push([agentId, kind, options]);
        return "use_current";
      },
    });
    expect(asked).toEqual([["t", "file_modified_externally", ["use_current", "abort"]]]);
    expect(outcomes).toMatchObject([{ taskId: "t", outcome: "completed" }]);
  });

  it.each<[string, (asked: () => Promise<never>) => RecoveryHandlers]>([
    ["onEnvironmentMismatch", (asked) => ({ onEnvironmentMismatch: asked })],
    ["onConfirm", (asked) => ({ onEnvironmentMismatch: () => "use_current", onConfirm: asked })],
  ])("or leaves it in progress when it is stopped while %s waits for a person", async (_name, handlers) => {
    const at = await scene();
    at.change();
    const stop = new AbortController();
    const asked = () => {
      stop.abort(new Stopped());
      return new Promise<never>(() => {});
    };
    const { tasks, outcomes } = at;
    const onOutcome = (outcome: TaskOutcome) => void outcomes.push(outcome);
    const worker = new TaskWorker({ tasks, agents: at.agent(), onOutcome, ...handlers(asked) });
    await worker.run({ signal: stop.signal });
    expect(outcomes).toMatchObject([{ taskId: "t", outcome: "interrupted" }]);
    expect(await tasks.get("t")).toMatchObject({ status: "in_progress" });
  });

  it.each<[string, RecoveryHandlers, RegExp]>([
    ["abort is chosen", { onEnvironmentMismatch: () => "abort" }, /"abort" was chosen/],
    [
      "it is not confirmed",
      { onEnvironmentMismatch: () => "use_current", confirm: "always", onConfirm: () => false },
      /not confirmed/,
    ],
  ])("or pauses it when %s", async (_name, handlers, reason) => {
    const at = await scene();
    at.change();
    expect(await at.work(handlers)).toMatchObject([{ outcome: "paused", error: { code: "recovery_refused" } }]);
    expect(await at.tasks.get("t")).toMatchObject({
      status: "paused",
      data: { pauseReason: expect.stringMatching(reason) as string },
    });
  });

  it("that is retried after a failure", async () => {
    const at = await scene();
    at.fault.return();
    expect(await at.work()).toMatchObject([{ outcome: "failed" }]);
    at.fault.repair();
    at.change();
    await at.tasks.retry("t");
    expect(await at.work()).toMatchObject([{ taskId: "t", outcome: "paused" }]);
    await at.tasks.resume("t");
    expect(await at.work({ onEnvironmentMismatch: () => "use_current" })).toMatchObject([{ outcome: "completed" }]);
  });

  it("and skips it if another worker finishes it while the handler runs", async () => {
    const at = await scene();
    at.change();
    const other = new TaskWorker({
      tasks: at.tasks,
      agents: at.agent(),
      onEnvironmentMismatch: () => "use_current",
    });
    const outcomes = await at.work({
      onEnvironmentMismatch: async () => {
        await other.run();
        return "abort" as const;
      },
    });
    expect(outcomes).toEqual([]);
    expect(await at.tasks.get("t")).toMatchObject({ status: "completed" });
  });
});

it("a task with a damaged log does not stop a worker from running other tasks", async () => {
  const directory = await testDirectory();
  const at = await new Scene(() => new FilePersistenceStorageProvider({ directory })).cut("t");
  const folder = join(agentPath(directory, "t"), "checkpoints");
  for (const name of await readdir(folder)) {
    const text = await readFile(join(folder, name), "utf8");
    await writeFile(join(folder, name), text.replace('"second"', '"secund"'));
  }
  await at.tasks.create({ taskId: "next", taskName: "import", inputRequest: "in" });
  expect(await at.work()).toMatchObject([
    { taskId: "t", outcome: "interrupted", error: { code: "corrupt_log" } },
    { taskId: "next", outcome: "completed" },
  ]);
});

it('a worker with confirmation "always" requires a handler', async () => {
  const [memory] = logStorages;
  const at = new Scene(await memory!.open());
  expect(() => new TaskWorker({ tasks: at.tasks, agents: at.agent(), confirm: "always" })).toThrow(/"onConfirm"/);
});
