import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  RollbackToolRegistry,
  strategy,
  type AgentContext,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { TaskManager, TaskWorker } from "agent-persistence/task";
import { crashAfter, scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { commitTool, Drift, revertCommit, Workspace } from "agent-persistence/workspace";
import { describe, expect, it } from "vitest";
import { Fault } from "../../persistence/support/durableAgent.ts";
import { logStorages } from "../../persistence/support/storages.ts";
import { lines, TestRepository } from "../git/repositories.ts";
import { portion } from "../../soak/cases.ts";

const author = { name: "Agent", email: "agent@example.com" };

/** A task that changes and commits a file, makes another, and fails when the upstream has changed the same line. */
class Restarted {
  readonly origin = TestRepository.create();
  readonly ours: TestRepository;
  readonly before: string;
  readonly fault = new Fault();

  constructor() {
    this.before = this.origin.commit({ "a.txt": lines() });
    this.ours = this.origin.clone();
  }

  build(storage: LogPersistenceStorageProvider) {
    const { root } = this.ours;
    const workspace = new Workspace({ root });
    const commit = commitTool({ root, author });
    const call = (context: AgentContext, name: string, input: unknown) =>
      context.tools.call(workspace.tools.find((tool) => tool.name === name) as never, input as never);
    const agent = new AIAgent({
      id: "coder",
      promptExecutor: scriptedModel([]),
      llmModel: "m",
      tools: [...workspace.tools, commit],
      strategy: strategy<string, string>("work", (graph) => {
        const work = graph.node("work", async (input: string, context) => {
          await call(context, "write_file", { path: "a.txt", content: lines({ 3: "ours" }) });
          return input;
        });
        const keep = graph.node("keep", async (input: string, context) => {
          await context.tools.call(commit, { message: "Ours", paths: ["a.txt"] });
          await call(context, "write_file", { path: "new.txt", content: input });
          return input;
        });
        const judge = graph.node("judge", async (input: string) => {
          this.fault.strike();
          return `${input}!`;
        });
        graph.edge(graph.start, work);
        graph.edge(work, keep);
        graph.edge(keep, judge);
        graph.edge(judge, graph.finish);
      }),
    })
      .install(Persistence, {
        storage,
        participants: [workspace],
        rollbackToolRegistry: new RollbackToolRegistry().registerRollback(
          commit,
          (_input, { output }) => revertCommit(root, output),
          { effect: "idempotent" },
        ),
      })
      .install(Drift, { root, clock: new SimulatedClock() });
    const tasks = new TaskManager({ storage });
    const saved = persistence(agent).agent("t");
    const restart = () => saved.restart({ prepareStorage: agent.feature(Drift).prepareStorage });
    return { agent, tasks, saved, restart, worker: new TaskWorker({ tasks, agents: agent }) };
  }

  /** Runs it until it has failed. */
  async fail(storage: LogPersistenceStorageProvider): Promise<void> {
    const { tasks, worker } = this.build(storage);
    await tasks.create({ taskId: "t", taskName: "edit", inputRequest: "go" });
    await worker.run();
    this.origin.commit({ "a.txt": lines({ 3: "theirs" }) });
    this.ours.git("fetch", "--quiet");
  }

  state() {
    return {
      a: readFileSync(join(this.ours.root, "a.txt"), "utf8"),
      status: this.ours.git("status", "--porcelain"),
      back: this.ours.git("rev-parse", "HEAD") === this.before,
    };
  }
}

const asBefore = { a: lines(), status: "", back: true };

describe.each(logStorages)("a task that is restarted, $name", (kind) => {
  it("a restarted task returns to the queue with reverted files and commits, and keeps its drift events", async () => {
    const opened = await kind.open();
    const world = new Restarted();
    await world.fail(opened());
    expect(world.state()).toEqual({ a: lines({ 3: "ours" }), status: "?? new.txt", back: false });
    const { restart, tasks, saved } = world.build(opened());
    expect(await restart()).toMatchObject({ failed: [] });
    expect(world.state()).toEqual(asBefore);
    expect(await tasks.get("t")).toMatchObject({ status: "queued", data: { inputRequest: "go" } });
    const settled = {
      type: "upstream_change",
      details: { commits_behind: 1, conflicting_files: ["a.txt"] },
      resolution: "task_restarted",
    };
    const checkpoints = await saved.getCheckpoints();
    expect(checkpoints.at(-1)).toMatchObject({
      nodeId: checkpoints[0]?.nodeId,
      storage: { drift: { task_id: "t", started_at_commit: world.before, drift_events: [settled] } },
    });
    world.fault.repair();
    await world.build(opened()).worker.run();
    // The upstream is still ahead, so the same work is in its way again.
    expect(await tasks.get("t")).toMatchObject({ status: "waiting" });
    const [request] = await saved.getRequests();
    await saved.answer(request?.requestId ?? "", "ignored");
    await world.build(opened()).worker.run();
    expect(await tasks.get("t")).toMatchObject({ status: "completed", data: { finalOutput: "go!" } });
    expect(world.state()).toEqual({ a: lines({ 3: "ours" }), status: "?? new.txt", back: false });
    expect((await saved.getLatestCheckpoint())?.storage).toMatchObject({
      drift: {
        drift_events: [settled, { type: "upstream_change", details: { conflicting_files: [] }, resolution: "ignored" }],
      },
    });
  });

  it.each<[string, string, (tasks: TaskManager) => Promise<unknown>]>([
    ["unknown", "task_not_found", async () => {}],
    ["queued", "transition_not_allowed", (tasks) => tasks.create({ taskId: "t", taskName: "n", inputRequest: 1 })],
    [
      "not recoverable",
      "transition_not_allowed",
      async (tasks) => {
        await tasks.create({ taskId: "t", taskName: "n", inputRequest: 1 });
        await tasks.start("t");
        await tasks.fail("t", "for good", { recoverable: false });
      },
    ],
  ])("a task cannot be restarted when it is %s", async (_what, code, prepare) => {
    const opened = await kind.open();
    const { restart, tasks } = new Restarted().build(opened());
    await prepare(tasks);
    const before = await tasks.get("t");
    await expect(restart()).rejects.toMatchObject({ code });
    expect(await tasks.get("t")).toEqual(before);
  });

  it("a task that failed before its first step is queued unchanged by a restart", async () => {
    const opened = await kind.open();
    const { restart, tasks } = new Restarted().build(opened());
    await tasks.create({ taskId: "t", taskName: "n", inputRequest: 1 });
    await tasks.start("t");
    await tasks.fail("t", "too early");
    expect(await restart()).toBeUndefined();
    expect(await tasks.get("t")).toMatchObject({ status: "queued" });
  });

  it("a task stays failed and unchanged if the drift check fails during its restart", async () => {
    const opened = await kind.open();
    const world = new Restarted();
    await world.fail(opened());
    const { saved, tasks } = world.build(opened());
    const state = world.state();
    const prepareStorage = () => Promise.reject(new Error("no network"));
    await expect(saved.restart({ prepareStorage })).rejects.toThrow("no network");
    expect(await tasks.get("t")).toMatchObject({ status: "failed" });
    expect(world.state()).toEqual(state);
  });
});

describe("a restart that a crash interrupts", () => {
  // Begin, the steps of the files and of the commit, end.
  it.each(portion([1, 5], [0, 1, 2, 3, 4, 5, 6, 7, 8]))(
    "reaches the same result when it is repeated, after %i saves",
    async (saves) => {
      const storage = new InMemoryPersistenceStorageProvider();
      const world = new Restarted();
      await world.fail(storage);
      const crashing = world.build(crashAfter(storage, saves) as LogPersistenceStorageProvider);
      const crashed = await crashing.restart().then(
        () => false,
        () => true,
      );
      const { tasks, restart, saved } = world.build(storage);
      expect(await tasks.get("t")).toMatchObject({ status: crashed ? "failed" : "queued" });
      if (crashed) await restart();
      expect(world.state()).toEqual(asBefore);
      expect(await tasks.get("t")).toMatchObject({ status: "queued" });
      expect((await saved.getLatestCheckpoint())?.storage).toMatchObject({
        drift: { drift_events: [{ type: "upstream_change", resolution: "task_restarted" }] },
      });
    },
  );
});
