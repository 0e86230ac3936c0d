import {
  AgentBusyError,
  InvalidInputError,
  NoPersistenceStorageProvider,
  UnfinishedRunError,
  persistence,
  strategy,
} from "agent-persistence";
import { CorruptLogError, StorageNotListableError } from "agent-persistence/errors";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import {
  STATE_TRANSITIONS,
  type Task,
  TaskManager,
  TaskNotFoundError,
  TaskStatus,
  TransitionNotAllowedError,
} from "agent-persistence/task";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { expectedData, moveTo, wayTo } from "../state/tasksInEachStatus.ts";
import { durableAgent, Fault } from "../../persistence/support/durableAgent.ts";
import { logStorages, memory, RowsProvider, type Opened } from "../../persistence/support/storages.ts";

const statuses = Object.values(TaskStatus);
const time = "2026-01-01T00:00:00.000Z";
async function listed(tasks: TaskManager, filter: Parameters<TaskManager["list"]>[0] = {}): Promise<readonly Task[]> {
  const found: Task[] = [];
  for await (const task of tasks.list(filter)) found.push(task);
  return found;
}

describe.each(logStorages)("$name: a task manager", (storage) => {
  const manager = (opened: Opened<LogPersistenceStorageProvider>) =>
    new TaskManager({ storage: opened(), clock: new SimulatedClock() });
  const inputRequest = { file: "a.csv", since: new Date(0) };
  async function taskIn(status: TaskStatus, opened: Opened<LogPersistenceStorageProvider>) {
    await manager(opened).create({ taskId: "t", taskName: "import", inputRequest });
    await wayTo[status](manager(opened), "t");
  }

  it.each(statuses)("keeps the data of a task that is %s, for the next process", async (status) => {
    const opened = await storage.open();
    await taskIn(status, opened);
    const asked = { taskName: "import", priority: 0, inputRequest };
    const task = { taskId: "t", ...asked, status, createdAt: time, updatedAt: time, cursor: `${time} t` };
    const expected = { ...task, data: expectedData[status] };
    expect(await manager(opened).get("t")).toEqual(expected);
    expect(await listed(manager(opened))).toEqual([expected]);
    expect(await listed(manager(opened), { status })).toEqual([expected]);
    for (const other of statuses.filter((one) => one !== status))
      expect(await listed(manager(opened), { status: other })).toEqual([]);
  });

  it.each(statuses.flatMap((from) => statuses.map((to) => [from, to] as const)))(
    "moves from %s to %s if the table permits it; a running task may also be cancelled",
    async (from, to) => {
      const opened = await storage.open();
      await taskIn(from, opened);
      const before = await manager(opened).get("t");
      if (STATE_TRANSITIONS[from].includes(to) || (from === "in_progress" && to === "cancelled")) {
        const moved = await moveTo[to](manager(opened), "t");
        expect(moved.status).toBe(to);
        expect(await manager(opened).get("t")).toEqual(moved);
        return;
      }
      const refused = moveTo[to](manager(opened), "t");
      await expect(refused).rejects.toBeInstanceOf(TransitionNotAllowedError);
      await expect(refused).rejects.toMatchObject({ from, to, allowed: STATE_TRANSITIONS[from] });
      expect(await manager(opened).get("t")).toEqual(before);
    },
  );

  it("retries only recoverable failures and counts the retries", async () => {
    const opened = await storage.open();
    await taskIn("failed", opened);
    const tasks = manager(opened);
    await tasks.retry("t");
    await tasks.start("t");
    expect(await tasks.fail("t", "again", { recoverable: false })).toMatchObject({
      data: { errorType: "Error", errorMessage: "again", recoverable: false, retryCount: 1 },
    });
    expect(await tasks.isResumable("t")).toBe(false);
    await expect(tasks.retry("t")).rejects.toMatchObject({ code: "transition_not_allowed", allowed: [] });
    const agent = durableAgent(echo(), opened());
    await expect(agent.resume({ agentId: "t" })).rejects.toBeInstanceOf(TransitionNotAllowedError);
  });

  it("creates one task for ten concurrent calls with the same id and refuses the others", async () => {
    const opened = await storage.open();
    const created = await Promise.allSettled(
      Array.from({ length: 10 }, () =>
        new TaskManager({ storage: opened() }).create({ taskId: "t", taskName: "n", inputRequest: "in" }),
      ),
    );
    const codes = created.map((each) =>
      each.status === "fulfilled" ? "created" : (each.reason as { code: string }).code,
    );
    expect(codes.toSorted()).toEqual(["created", ...Array<string>(9).fill("task_exists")]);
  });

  it("lists by priority, then by age, in pages", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const tasks = new TaskManager({ storage: opened(), clock });
    const priorities = [0, 5, -3, 5, 1000, 0, -20];
    for (const [index, priority] of priorities.entries()) {
      clock.advance(1000);
      await tasks.create({ taskId: `t${index}`, taskName: "n", inputRequest: index, priority });
    }
    const ids = async (filter: Parameters<TaskManager["list"]>[0]) =>
      (await listed(tasks, filter)).map(({ taskId }) => taskId);
    const all = ["t4", "t1", "t3", "t0", "t5", "t2", "t6"];
    expect(await ids({ status: "queued" })).toEqual(all);
    expect(await ids({ status: "queued", limit: 3 })).toEqual(all.slice(0, 3));
    expect(await ids({ limit: 0 })).toEqual([]);
    let after: string | undefined;
    for (const expected of [all.slice(0, 3), all.slice(3, 6), all.slice(6)]) {
      const page = await listed(tasks, { limit: 3, after });
      expect(page.map(({ taskId }) => taskId)).toEqual(expected);
      after = page.at(-1)?.cursor;
    }
    expect(await listed(tasks, { limit: 3, after })).toEqual([]);
  });

  it("continues after a cursor even if the tasks before it have changed", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const tasks = new TaskManager({ storage: opened(), clock });
    const created: Task[] = [];
    for (const taskId of ["a", "b", "c", "d"]) {
      clock.advance(1000);
      created.push(await tasks.create({ taskId, taskName: "n", inputRequest: 1 }));
    }
    const [first, second] = await listed(tasks, { status: "queued", limit: 2 });
    expect([first?.cursor, second?.cursor]).toEqual([created[0]?.cursor, created[1]?.cursor]);
    await tasks.start("a");
    const started = await tasks.start("b");
    expect(started.cursor).toBe(second?.cursor);
    expect((await tasks.get("b"))?.cursor).toBe(second?.cursor);
    const rest = await listed(tasks, { status: "queued", after: second?.cursor });
    expect(rest.map(({ taskId }) => taskId)).toEqual(["c", "d"]);
  });

  it("reads no task before the cursor or after the limit", async () => {
    const opened = await storage.open();
    const provider = opened();
    const clock = new SimulatedClock();
    const tasks = new TaskManager({ storage: provider, clock });
    for (let index = 0; index < 12; index++) {
      clock.advance(1000);
      await tasks.create({ taskId: `t${index}`, taskName: "n", inputRequest: index });
      await tasks.start(`t${index}`);
    }
    const cursor = (await tasks.get("t9"))?.cursor;
    const list = vi.spyOn(provider.log, "list");
    const read = vi.spyOn(provider.log, "read");
    expect((await listed(tasks, { limit: 1, after: cursor })).map(({ taskId }) => taskId)).toEqual(["t10"]);
    expect(list.mock.calls).toEqual([[{ after: cursor, limit: 1 }]]);
    expect(new Set(read.mock.calls.map(([agentId]) => agentId))).toEqual(new Set(["t10"]));
  });

  it("fills a page even if a task cannot be read", async () => {
    const opened = await storage.open();
    const provider = opened();
    const clock = new SimulatedClock();
    const tasks = new TaskManager({ storage: provider, clock });
    for (const taskId of ["a", "b", "c"]) {
      clock.advance(1000);
      await tasks.create({ taskId, taskName: "n", inputRequest: 1 });
      await tasks.start(taskId);
    }
    vi.spyOn(provider.log, "read").mockImplementationOnce(() => {
      throw new CorruptLogError("a", { file: "1.jsonl" }, "nothing");
    });
    expect((await listed(tasks, { limit: 2 })).map(({ taskId }) => taskId)).toEqual(["b", "c"]);
  });

  it("refuses invalid tasks by field and stores no part of them", async () => {
    const opened = await storage.open();
    const wrong = { taskName: "", inputRequest: 1, priority: 0.5, reserves: [{ path: "a", operation: "own" }] };
    const refused = manager(opened).create(wrong as never);
    await expect(refused).rejects.toBeInstanceOf(InvalidInputError);
    for (const field of ["taskName", "priority", "reserves"]) await expect(refused).rejects.toThrow(field);
    await expect(manager(opened).create({ taskName: "n", inputRequest: () => {} })).rejects.toThrow("Cannot save");
    expect(await listed(manager(opened))).toEqual([]);
  });

  it("finds tasks by id, and no other agents", async () => {
    const opened = await storage.open();
    const tasks = manager(opened);
    await durableAgent(echo(), opened()).run("hello", { agentId: "chat" });
    await tasks.create({ taskId: "t", taskName: "n", inputRequest: "a" });
    expect(await listed(tasks)).toMatchObject([{ taskId: "t" }]);
    expect(await tasks.get("chat")).toBeUndefined();
    for (const unknown of ["chat", "never seen"]) {
      await expect(tasks.pause(unknown, "?")).rejects.toBeInstanceOf(TaskNotFoundError);
      await expect(tasks.cancel(unknown)).rejects.toBeInstanceOf(TaskNotFoundError);
      await expect(tasks.isResumable(unknown)).rejects.toBeInstanceOf(TaskNotFoundError);
    }
    for (const taken of ["chat", "t"])
      await expect(tasks.create({ taskId: taken, taskName: "n", inputRequest: 1 })).rejects.toThrow(
        expect.objectContaining({ name: "AlreadyExistsError", code: "task_exists", agentId: taken }),
      );
  });

  it("stores a large input and a large output in blobs and returns them", async () => {
    const opened = await storage.open();
    const large = "x".repeat(50_000);
    await manager(opened).create({ taskId: "t", taskName: "n", inputRequest: large });
    expect(await manager(opened).get("t")).toMatchObject({ data: { inputRequest: large } });
    await durableAgent(echo(), opened()).resume({ agentId: "t" });
    expect(await listed(manager(opened), { status: "completed" })).toMatchObject([{ data: { finalOutput: large } }]);
    for await (const summary of opened().log.list()) expect(JSON.stringify(summary).length).toBeLessThan(1000);
  });

  it("lists the readable tasks and omits unreadable ones", async () => {
    const opened = await storage.open();
    const tasks = manager(opened);
    await tasks.create({ taskId: "lost", taskName: "n", inputRequest: "x".repeat(50_000), priority: 1 });
    await tasks.create({ taskId: "other", taskName: "n", inputRequest: "in" });
    let text = "";
    for await (const entry of opened().log.read("lost")) text += JSON.stringify(entry.records);
    const [blob = ""] = text.match(/blob:\/\/[0-9a-f]+-\d+/) ?? [];
    for (const move of ["queued", "in_progress"] as const) {
      if (move === "queued") await opened().log.blobs.delete("lost", blob);
      else await tasks.start("other");
      expect(await listed(tasks)).toMatchObject([{ taskId: "other", status: move }]);
      await expect(tasks.get("lost")).rejects.toMatchObject({ code: "unreadable_value" });
    }
  });
});

describe.each(logStorages)("$name: a run drives its task", (storage) => {
  async function queued() {
    const opened = await storage.open();
    const tasks = new TaskManager({ storage: opened() });
    await tasks.create({ taskId: "t", taskName: "echo", inputRequest: "in", priority: 3 });
    return { opened, tasks };
  }

  it.each([
    ["resume", (agent: ReturnType<typeof durableAgent>) => agent.resume({ agentId: "t" })],
    ["run with its input", (agent: ReturnType<typeof durableAgent>) => agent.run("in", { agentId: "t" })],
  ])("from the queue to its end: %s", async (_name, begin) => {
    const { opened, tasks } = await queued();
    const seen: (Task | undefined)[] = [];
    const agent = durableAgent(
      echo(async () => void seen.push(await tasks.get("t"))),
      opened(),
    );
    expect(await begin(agent)).toMatchObject({ status: "completed", output: "in" });
    expect(seen).toMatchObject([
      { status: "in_progress", data: { currentAgent: "echo", currentStep: "only", iterationCount: 0 } },
    ]);
    expect(await tasks.get("t")).toMatchObject({ status: "completed", data: { finalOutput: "in" } });
    // Once more: the recorded result, and nothing runs.
    expect(await agent.resume({ agentId: "t" })).toMatchObject({ output: "in" });
    expect(seen).toHaveLength(1);
  });

  it("and reports the subgraph as current agent inside a subgraph", async () => {
    const { opened, tasks } = await queued();
    const seen: (Task | undefined)[] = [];
    const graph = strategy<string, string>("echo", (g) => {
      const reviewer = g.subgraph<string, string>("reviewer", (inner) => {
        const read = inner.node("read", async (input: string) => {
          seen.push(await tasks.get("t"));
          return input;
        });
        inner.edge(inner.start, read);
        inner.edge(read, inner.finish);
      });
      g.edge(g.start, reviewer);
      g.edge(reviewer, g.finish);
    });
    await durableAgent(graph, opened()).resume({ agentId: "t" });
    expect(seen).toMatchObject([{ data: { currentAgent: "reviewer", currentStep: "reviewer/read" } }]);
  });

  it("names the parallel node as its current step, and counts a checkpoint of a branch as activity", async () => {
    const { opened, tasks } = await queued();
    const clock = new SimulatedClock();
    let seen: Task | undefined;
    const graph = strategy<string, string>("echo", (g) => {
      const reviewer = g.subgraph<string, string>("reviewer", (inner) => {
        const wait = inner.node("wait", (input: string) => {
          clock.advance(5_000);
          return input;
        });
        const read = inner.node("read", async (input: string) => {
          seen = await tasks.get("t");
          return input;
        });
        inner.edge(inner.start, wait);
        inner.edge(wait, read);
        inner.edge(read, inner.finish);
      });
      const all = g.parallel("all", { reviewer }, (results) => results.reviewer);
      g.edge(g.start, all);
      g.edge(all, g.finish);
    });
    const begun = new Date(clock.now()).toISOString();
    await durableAgent(graph, opened(), { clock }).resume({ agentId: "t" });
    const lastActivityAt = new Date(clock.now()).toISOString();
    expect(lastActivityAt > begun).toBe(true);
    expect(seen).toMatchObject({
      data: { currentAgent: "echo", currentStep: "all", iterationCount: 0, lastActivityAt },
    });
  });

  it("and refuses another input while the task is queued", async () => {
    const { opened, tasks } = await queued();
    await expect(durableAgent(echo(), opened()).run("other", { agentId: "t" })).rejects.toBeInstanceOf(
      UnfinishedRunError,
    );
    expect(await tasks.get("t")).toMatchObject({ status: "queued" });
    await durableAgent(echo(), opened()).run("other", { agentId: "t", unfinished: "abandon" });
    expect(await tasks.get("t")).toMatchObject({ status: "completed", data: { finalOutput: "other" } });
  });

  it("and leaves the task queued after an input that the strategy refuses", async () => {
    const { opened, tasks } = await queued();
    const strict = strategy("strict", { input: z.number(), output: z.number() }, (g) => g.edge(g.start, g.finish));
    await expect(durableAgent(strict as never, opened()).resume({ agentId: "t" })).rejects.toBeInstanceOf(
      InvalidInputError,
    );
    expect(await tasks.get("t")).toMatchObject({ status: "queued" });
  });

  it("to failed, and after a retry from the failed node onward", async () => {
    const { opened, tasks } = await queued();
    const fault = new Fault();
    const agent = durableAgent(
      echo(async () => fault.strike()),
      opened(),
    );
    await expect(agent.resume({ agentId: "t" })).rejects.toThrow("stopped");
    expect(await tasks.get("t")).toMatchObject({ status: "failed", data: { recoverable: true, retryCount: 0 } });
    expect(await tasks.isResumable("t")).toBe(true);
    expect(await tasks.retry("t")).toMatchObject({ status: "queued", data: { inputRequest: "in", priority: 3 } });
    await expect(agent.resume({ agentId: "t" })).rejects.toThrow("stopped");
    expect(await tasks.get("t")).toMatchObject({ status: "failed", data: { retryCount: 1 } });
    fault.repair();
    await agent.resume({ agentId: "t" });
    expect(await tasks.get("t")).toMatchObject({ status: "completed" });
  });

  it("to paused by a move from outside", async () => {
    const { opened, tasks } = await queued();
    const fault = new Fault();
    const agent = durableAgent(
      echo(async () => fault.strike()),
      opened(),
    );
    await expect(agent.resume({ agentId: "t" })).rejects.toThrow("stopped");
    await persistence(agent).agent("t").rollbackToLatestCheckpoint();
    expect(await tasks.get("t")).toMatchObject({ status: "paused", data: { snapshot: "3-2" } });
    expect(await tasks.isResumable("t")).toBe(true);
  });
});

describe("a running task", () => {
  it.each(["pause", "cancel"] as const)("is aborted by %s and moved after its process releases it", async (verb) => {
    const opened = await memory.open();
    const tasks = new TaskManager({ storage: opened() });
    await tasks.create({ taskId: "t", taskName: "echo", inputRequest: "in" });
    let begun = (): void => {};
    const beginning = new Promise<void>((resolve) => (begun = resolve));
    const agent = durableAgent(
      strategy<string, string>("s", (g) => {
        const only = g.node("only", async (input: string, { signal }) => {
          begun();
          await new Promise((_resolve, reject) =>
            signal.addEventListener("abort", () => reject(signal.reason as Error)),
          );
          return input;
        });
        g.edge(g.start, only);
        g.edge(only, g.finish);
      }),
      opened(),
    );
    const ended = agent.resume({ agentId: "t" }).catch((error: unknown) => error);
    await beginning;
    expect(await tasks.isResumable("t")).toBe(false);
    await expect(tasks.complete("t", { output: 1 })).rejects.toBeInstanceOf(AgentBusyError);
    await expect(tasks[verb]("t", "?", { timeoutMs: 0 })).rejects.toBeInstanceOf(AgentBusyError);
    await tasks[verb]("t", "enough");
    const request = { pause: "?", cancel: "the task is cancelled: ?" }[verb];
    expect(await ended).toMatchObject({ code: "stop_requested", reason: request });
    const expected = {
      pause: { status: "paused", data: { pauseReason: "enough", snapshot: "2-1" } },
      cancel: { status: "cancelled", data: { reason: "enough" } },
    };
    expect(await tasks.get("t")).toMatchObject(expected[verb]);
    const entries = [];
    for await (const entry of opened().log.read("t")) entries.push(entry.records.map((record) => record as object));
    const last = [{ status: "paused" }, ...(verb === "cancel" ? [{ kind: "checkpoint", status: "cancelled" }] : [])];
    expect(entries.at(-1)).toMatchObject(last);
  });
});

describe("a three-method storage", () => {
  it("is refused, and the error suggests a suitable storage", () => {
    expect(() => new TaskManager({ storage: new RowsProvider() })).toThrow(StorageNotListableError);
    expect(() => new TaskManager({ storage: new NoPersistenceStorageProvider() })).toThrow(StorageNotListableError);
  });
});

/** Gives back its input. */
function echo(seen: () => Promise<void> = async () => {}) {
  return strategy<string, string>("echo", (g) => {
    const only = g.node("only", async (input: string) => {
      await seen();
      return input;
    });
    g.edge(g.start, only);
    g.edge(only, g.finish);
  });
}
