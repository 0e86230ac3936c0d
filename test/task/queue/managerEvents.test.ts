import { printEvents, type PersistenceEvent } from "agent-persistence";
import { TaskManager } from "agent-persistence/task";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it, vi } from "vitest";
import { STATE_TRANSITIONS, type TaskStatus } from "agent-persistence/task";
import { oneNode } from "../worker/oneNode.ts";
import { defaultLoop } from "../../persistence/support/defaultLoop.ts";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { logStorages } from "../../persistence/support/storages.ts";

/** Moves a task by every call there is. */
async function moveAbout(tasks: TaskManager): Promise<void> {
  await tasks.create({ taskId: "t", taskName: "n", inputRequest: "in" });
  await tasks.start("t");
  await tasks.pause("t", "lunch");
  await tasks.resume("t");
  await tasks.wait("t", { waitingFor: "user_input", promptShownToUser: "?" });
  await tasks.resume("t");
  await tasks.fail("t", new RangeError("out of range"));
  await tasks.retry("t");
  await tasks.start("t");
  await tasks.cancel("t", "enough");
  await tasks.create({ taskId: "u", taskName: "n", inputRequest: "in" });
  await tasks.start("u");
  await tasks.complete("u", { output: "out" });
}

const moves = [
  ["t", undefined, "queued"],
  ["t", "queued", "in_progress"],
  ["t", "in_progress", "paused"],
  ["t", "paused", "in_progress"],
  ["t", "in_progress", "waiting"],
  ["t", "waiting", "in_progress"],
  ["t", "in_progress", "failed"],
  ["t", "failed", "queued"],
  ["t", "queued", "in_progress"],
  ["t", "in_progress", "paused"],
  ["t", "paused", "cancelled"],
  ["u", undefined, "queued"],
  ["u", "queued", "in_progress"],
  ["u", "in_progress", "completed"],
];

describe.each(logStorages)("$name: the listener of an agent", (storage) => {
  it("the listener of an agent gets the first checkpoint of a task like any other", async () => {
    const opened = await storage.open();
    const told: string[] = [];
    await new TaskManager({ storage: opened() }).create({ taskId: "a", taskName: "n", inputRequest: "in" });
    const onEvent = (event: PersistenceEvent) =>
      void (event.type === "checkpoint_saved" && told.push(`${event.nodeId}, ${event.trigger}`));
    await durableAgent(defaultLoop, opened(), { onEvent, turns: ["Done."] }).resume();
    expect(told).toEqual(["callModel, run_started", "finish, run_ended"]);
  });
});

describe.each(logStorages)("$name: the listener of an agent", (storage) => {
  it("the listener of an agent gets only transitions in the table, except for the start of another run", async () => {
    const opened = await storage.open();
    const told: string[] = [];
    const beginnings: string[] = [];
    const onEvent = (event: PersistenceEvent) => {
      if (event.type !== "status_changed") return;
      const { previous, status } = event;
      told.push(`${previous ?? "new"} > ${status}`);
      const allowed =
        previous === undefined || STATE_TRANSITIONS[previous as TaskStatus].includes(status as TaskStatus);
      if (!allowed) beginnings.push(`${previous ?? "new"} > ${status}`);
    };
    let fails = true;
    const agent = durableAgent(
      oneNode((input) => {
        if (fails) throw new Error("fails");
        return input;
      }),
      opened(),
      { onEvent },
    );
    await expect(agent.run("one", { agentId: "a" })).rejects.toThrow("fails");
    await expect(agent.resume({ agentId: "a" })).rejects.toThrow("fails");
    fails = false;
    await agent.run("two", { agentId: "a", unfinished: "abandon" });
    expect(told).toEqual([
      "new > in_progress",
      "in_progress > failed",
      "failed > queued",
      "queued > in_progress",
      "in_progress > failed",
      "failed > queued",
      "queued > cancelled",
      "cancelled > in_progress",
      "in_progress > completed",
    ]);
    expect(beginnings).toEqual(["cancelled > in_progress"]);
  });
});

describe.each(logStorages)("$name: the listener of a task manager", (storage) => {
  it("the listener of a task manager gets every durable status change with its data", async () => {
    const opened = await storage.open();
    const told: PersistenceEvent[] = [];
    const lines: string[] = [];
    const print = printEvents((line) => lines.push(line));
    const onEvent = (event: PersistenceEvent) => {
      told.push(event);
      return print(event);
    };
    const tasks = new TaskManager({ storage: opened(), clock: new SimulatedClock(), onEvent });
    await moveAbout(tasks);
    const changes = told.flatMap((event) =>
      event.type === "status_changed" ? [[event.agentId, event.previous, event.status]] : [],
    );
    expect(changes).toEqual(moves);
    expect(told.filter(({ type }) => type !== "status_changed")).toMatchObject(
      ["t", "u"].map((agentId) => ({ type: "checkpoint_saved", agentId, trigger: "run_ended" })),
    );
    expect(told.at(-1)).toMatchObject({
      agentId: "u",
      at: "2026-01-01T00:00:00.000Z",
      data: { completedAt: "2026-01-01T00:00:00.000Z", finalOutput: "out" },
    });
    expect(lines).toContain("2026-01-01T00:00:00.000Z t: in_progress → paused");
  });

  it("the listener of a task manager gets no event for a refused change", async () => {
    const opened = await storage.open();
    const told: PersistenceEvent[] = [];
    const tasks = new TaskManager({ storage: opened(), onEvent: (event) => void told.push(event) });
    await tasks.create({ taskId: "t", taskName: "n", inputRequest: "in" });
    await expect(tasks.complete("t", { output: 1 })).rejects.toMatchObject({ code: "transition_not_allowed" });
    expect(told).toHaveLength(1);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("no listener");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no listener"))],
  ] as const)(
    "a listener of a task manager that %s is reported, and every status change is made",
    async (_name, onEvent) => {
      const opened = await storage.open();
      const reported: string[] = [];
      const onListenerError = (_error: unknown, { type, agentId }: PersistenceEvent) =>
        void reported.push(`${type} ${agentId}`);
      const tasks = new TaskManager({ storage: opened(), onEvent, onListenerError });
      await moveAbout(tasks);
      expect(reported.filter((text) => text.startsWith("status_changed"))).toHaveLength(moves.length);
      expect([(await tasks.get("t"))?.status, (await tasks.get("u"))?.status]).toEqual(["cancelled", "completed"]);
    },
  );

  it("a failing listener of a task manager without onListenerError becomes a process warning", async () => {
    const opened = await storage.open();
    const warnings = vi.spyOn(process, "emitWarning");
    const warned = new Promise<void>((resolve) => warnings.mockImplementation(() => resolve()));
    const onEvent = () => Promise.reject(new Error("no listener"));
    await new TaskManager({ storage: opened(), onEvent }).create({ taskId: "t", taskName: "n", inputRequest: 1 });
    await warned;
    expect(warnings.mock.calls).toMatchObject([
      [expect.stringContaining("status_changed"), { code: "listener_failed" }],
    ]);
    warnings.mockRestore();
  });
});
