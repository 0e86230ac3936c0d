import type { AgentContext } from "agent-persistence";
import { type NewTask, TaskManager, type TaskOutcome, TaskWorker } from "agent-persistence/task";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { oneNode } from "../worker/oneNode.ts";
import { settableClock } from "./settableClock.ts";
import { queueStorages } from "./queueStorages.ts";

const start = Date.UTC(2026, 0, 1);
const hour = 3_600_000;
const at = (ms: number) => new Date(start + ms);

describe.each(queueStorages)("$name: controls of tasks", (storage) => {
  async function setup() {
    const opened = await storage.open();
    const clock = new SimulatedClock(start);
    const tasks = new TaskManager({ storage: opened(), clock: settableClock(clock) });
    const ran: string[] = [];
    let failures = 0;
    const body = oneNode((input, context: AgentContext) => {
      ran.push(input);
      if (failures-- > 0) throw new Error(`${context.agentId} failed`);
      return input;
    });
    const outcomes: TaskOutcome[] = [];
    const worker = () =>
      new TaskWorker({
        tasks,
        agents: durableAgent(body, opened(), { clock }),
        onOutcome: (outcome) => void outcomes.push(outcome),
      }).run();
    const add = (inputRequest: string, more: Partial<NewTask> = {}) =>
      tasks.create({ taskName: "t", inputRequest, ...more });
    return { opened, clock, tasks, ran, outcomes, worker, add, fail: (times: number) => void (failures = times) };
  }

  it("start a task at its notBefore, and earlier tasks first", async () => {
    const { clock, ran, worker, add, tasks } = await setup();
    const late = await add("late", { notBefore: at(2 * hour) });
    await add("later", { notBefore: at(3 * hour).toISOString() });
    await add("now");
    expect(late).toMatchObject({ status: "queued", notBefore: "2026-01-01T02:00:00.000Z" });
    expect((await collect(tasks.list())).map(({ inputRequest }) => inputRequest)).toEqual(["now", "late", "later"]);
    await worker();
    clock.advance(2 * hour - 1);
    await worker();
    expect(ran).toEqual(["now"]);
    clock.advance(1);
    await worker();
    expect(ran).toEqual(["now", "late"]);
    clock.jump(hour);
    await worker();
    expect(ran).toEqual(["now", "late", "later"]);
  });

  it("start a delayed task whose id looks like a later time", async () => {
    const { ran, worker, add } = await setup();
    await add("in", { taskId: `${at(9 * hour).toISOString()} report`, notBefore: at(0) });
    await worker();
    expect(ran).toEqual(["in"]);
  });

  it("start a task with a lower priority behind a delayed task", async () => {
    const { ran, worker, add } = await setup();
    await add("delayed", { notBefore: at(hour), priority: 5 });
    await add("low", { priority: -5 });
    await worker();
    expect(ran).toEqual(["low"]);
  });

  it("cancel a task that is queued at its expiresAt", async () => {
    const { clock, ran, worker, add, tasks, outcomes } = await setup();
    const { taskId } = await add("old", { taskId: "old", expiresAt: at(hour) });
    clock.advance(1);
    await add("new", { expiresAt: at(3 * hour) });
    await expect(tasks.expire(taskId)).rejects.toMatchObject({ code: "status_changed" });
    clock.advance(hour);
    await worker();
    expect(ran).toEqual(["new"]);
    expect(outcomes).toMatchObject([{ taskId, outcome: "expired" }, { outcome: "completed" }]);
    expect(await tasks.get(taskId)).toMatchObject({
      status: "cancelled",
      data: { reason: "The task expired at 2026-01-01T01:00:00.000Z." },
    });
  });

  it("retry a task after its expiresAt if it started before", async () => {
    const { clock, worker, add, tasks, outcomes, fail } = await setup();
    const { taskId } = await add("late", { expiresAt: at(hour) });
    fail(1);
    await worker();
    clock.advance(2 * hour);
    expect(await tasks.retryAll()).toEqual([taskId]);
    await expect(tasks.expire(taskId)).rejects.toMatchObject({ code: "status_changed" });
    await worker();
    expect(outcomes).toMatchObject([{ outcome: "failed" }, { taskId, outcome: "completed" }]);
  });

  it("retry a failed task with growing delays until it is dead", async () => {
    const { clock, ran, worker, add, tasks, fail } = await setup();
    const { taskId } = await add("a", { retries: 2, retryDelayMs: 1_000 });
    fail(3);
    await worker();
    expect(await tasks.get(taskId)).toMatchObject({
      status: "failed",
      data: { retryCount: 0, retryAt: "2026-01-01T00:00:01.000Z" },
    });
    expect(await collect(tasks.listDead())).toEqual([]);
    clock.advance(999);
    await worker();
    expect(ran).toHaveLength(1);
    clock.advance(1);
    await worker();
    expect(await tasks.get(taskId)).toMatchObject({ data: { retryCount: 1, retryAt: "2026-01-01T00:00:03.000Z" } });
    clock.advance(2_000);
    await worker();
    expect(ran).toHaveLength(3);
    const [dead] = await collect(tasks.listDead());
    expect(dead).toMatchObject({ taskId, data: { retryCount: 2 } });
    expect(dead?.data).not.toHaveProperty("retryAt");
    clock.advance(1_000 * hour);
    await worker();
    expect(ran).toHaveLength(3);
    expect(await tasks.retryAll()).toEqual([taskId]);
    await worker();
    expect(await tasks.get(taskId)).toMatchObject({ status: "completed" });
    expect(await tasks.retryAll()).toEqual([]);
  });

  it("lists and retries the dead tasks of one queue", async () => {
    const { worker, add, tasks, fail } = await setup();
    await add("a");
    const b = await add("b", { queue: "mail" });
    fail(2);
    await worker();
    await tasks.start(b.taskId);
    await tasks.fail(b.taskId, new Error("lost"));
    expect((await collect(tasks.listDead())).map(({ inputRequest }) => inputRequest)).toEqual(["a", "b"]);
    expect(await tasks.retryAll({ queue: "mail" })).toEqual([b.taskId]);
    expect((await collect(tasks.list({ queue: "mail" }))).map(({ status }) => status)).toEqual(["queued"]);
  });

  it("creates one task for concurrent duplicates", async () => {
    const { add, tasks } = await setup();
    const made = await Promise.all(["a", "b", "c"].map((input) => add(input, { deduplicationId: "order-7" })));
    expect(new Set(made.map(({ taskId }) => taskId)).size).toBe(1);
    expect(await collect(tasks.list())).toEqual([made[0]]);
    const other = await add("d", { deduplicationId: "order-7", queue: "mail" });
    expect(other.taskId).not.toBe(made[0]?.taskId);
  });

  it("creates a new task after the window of its duplicate, wherever the window starts", async () => {
    const { add, clock, tasks } = await setup();
    const windowed = { deduplicationId: "x", deduplicationWindowMs: hour };
    clock.advance(hour - 10);
    const first = await add("a", windowed);
    clock.advance(hour - 1);
    expect((await add("b", windowed)).taskId).toBe(first.taskId);
    clock.advance(1);
    const second = await add("c", windowed);
    expect(second.inputRequest).toBe("c");
    clock.jump(-2 * hour + 100);
    expect((await add("d", windowed)).taskId).toBe(first.taskId);
    expect(await collect(tasks.list())).toHaveLength(2);
  });

  it("creates many tasks in order, and none if one is invalid", async () => {
    const { tasks } = await setup();
    const many = Array.from({ length: 50 }, (_, n) => ({ taskName: "t", taskId: `t${n}`, inputRequest: n }));
    const wrong = { taskName: "", inputRequest: 1 };
    await expect(tasks.createMany([...many, wrong])).rejects.toMatchObject({ code: "invalid_input" });
    expect(await collect(tasks.list())).toEqual([]);
    expect((await tasks.createMany(many)).map(({ taskId }) => taskId)).toEqual(many.map(({ taskId }) => taskId));
    expect(await collect(tasks.list({ status: "queued" }))).toHaveLength(50);
  });

  it.each([
    [{ key: "a" }, 'at "key": needs a queue'],
    [{ queue: "a b" }, 'at "queue": expected up to 64'],
    [{ notBefore: "soon" }, 'at "notBefore": expected a Date, or a time in ISO 8601'],
    [{ retries: -1 }, "retries"],
    [{ retryDelayMs: 1e12 }, 'at "retryDelayMs": expected at most'],
    [{ taskId: "a", deduplicationId: "b" }, 'at "taskId": expected no taskId beside a deduplicationId'],
    [{ deduplicationWindowMs: 5 }, 'at "deduplicationWindowMs": needs a deduplicationId'],
  ])("refuses %j", async (wrong, message) => {
    const { add, tasks } = await setup();
    await expect(add("x", wrong)).rejects.toThrow(message);
    expect(await collect(tasks.list())).toEqual([]);
  });
});
