import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, persistence } from "agent-persistence";
import {
  LogPersistenceStorageProvider,
  processOwner,
  type AgentSummary,
  type RecordLog,
} from "agent-persistence/storage";
import { TaskManager, TaskWorker, type TaskOutcome } from "agent-persistence/task";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it, vi } from "vitest";
import { selectSummaries } from "../../../src/storage/summaries.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { delegatingLog } from "../../testing/delegatingLog.ts";
import { oneNode } from "./oneNode.ts";

/** A log whose lists show agents as they were when `catchUp` was last called. */
class LaggingIndex {
  readonly log: RecordLog;
  readonly #exact: RecordLog;
  #seen: readonly AgentSummary[] = [];

  constructor(exact: RecordLog) {
    this.#exact = exact;
    const list = this.#list.bind(this);
    this.log = delegatingLog(exact, { capabilities: { ...exact.capabilities, listing: "eventual" }, list });
  }

  async catchUp(): Promise<void> {
    this.#seen = await collect(this.#exact.list());
  }

  async *#list({ free: _free, ...options }: Parameters<RecordLog["list"]>[0] = {}): AsyncGenerator<AgentSummary> {
    // Who owned an agent then is not known any more.
    yield* selectSummaries(this.#seen, options);
  }
}

function setup() {
  const { log } = new InMemoryPersistenceStorageProvider();
  const index = new LaggingIndex(log);
  const [storage, clock] = [new LogPersistenceStorageProvider(index.log), new SimulatedClock()];
  const tasks = new TaskManager({ storage, clock });
  const outcomes: TaskOutcome[] = [];
  let opened = 0;
  const open = storage.log.open.bind(storage.log);
  storage.log.open = (agentId, owner) => {
    opened++;
    return open(agentId, owner);
  };
  const agent = new AIAgent({
    promptExecutor: scriptedModel([]),
    llmModel: "none",
    strategy: oneNode((input) => input),
  }).install(Persistence, { storage, clock });
  const worker = new TaskWorker({ tasks, agents: agent, onOutcome: (outcome) => void outcomes.push(outcome) });
  return { index, log, clock, tasks, outcomes, agent, worker, opened: () => opened };
}

const pollMs = 1_000;

describe("a storage with lagging lists", () => {
  it("lists a task late, and a worker then runs it once", async () => {
    const { index, clock, tasks, outcomes, worker } = setup();
    const stop = new AbortController();
    const run = worker.run({ pollMs, signal: stop.signal });
    await tasks.create({ taskId: "t", taskName: "echo", inputRequest: "x" });
    await index.catchUp();
    const hasRun = () => {
      clock.advance(pollMs);
      expect(outcomes).toHaveLength(1);
    };
    await vi.waitFor(hasRun, { interval: 2 });
    stop.abort();
    await run;
    expect(outcomes).toMatchObject([{ taskId: "t", outcome: "completed" }]);
  });

  it("lists ended tasks, which a worker tries once and then skips", async () => {
    const { index, tasks, outcomes, worker, opened } = setup();
    for (const taskId of ["a", "b"]) await tasks.create({ taskId, taskName: "echo", inputRequest: "x" });
    await index.catchUp();
    await worker.run();
    expect(outcomes).toHaveLength(2);
    const before = opened();
    // A new look at the same list: both are queued there.
    await worker.run();
    expect([outcomes.length, opened() - before]).toEqual([2, 2]);
  });

  it("lists owned tasks as free, and a worker leaves them to their owner", async () => {
    const { index, log, tasks, outcomes, worker } = setup();
    await tasks.create({ taskId: "a", taskName: "echo", inputRequest: "x" });
    await tasks.create({ taskId: "b", taskName: "echo", inputRequest: "x" });
    await index.catchUp();
    const owned = await log.open("a", processOwner());
    await worker.run();
    expect(outcomes).toMatchObject([{ taskId: "b", outcome: "completed" }]);
    await owned.release();
    await worker.run();
    expect(outcomes).toMatchObject([{ taskId: "b" }, { taskId: "a", outcome: "completed" }]);
  });

  it("shows an agent as unfinished until the list is current, with the latest run of its log", async () => {
    const { index, tasks, agent, worker } = setup();
    await tasks.create({ taskId: "a", taskName: "echo", inputRequest: "x" });
    await tasks.start("a");
    await index.catchUp();
    expect(await collect(persistence(agent).unfinished())).toMatchObject([{ agentId: "a", status: "interrupted" }]);
    await worker.run();
    expect(await collect(persistence(agent).unfinished())).toEqual([]);
    await index.catchUp();
    expect(await collect(persistence(agent).unfinished())).toEqual([]);
  });
});
