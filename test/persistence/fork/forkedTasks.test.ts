import { persistence, type RunResult } from "agent-persistence";
import { TaskManager } from "agent-persistence/task";
import { crashAfter, SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { chain } from "../support/calledAgents.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

/** How a task gets into a status, what a fork of it has, and whether the fork can go on. */
interface Stage {
  readonly status: string;
  readonly inFork: string;
  readonly reach: (at: Began) => Promise<unknown>;
  readonly goesOn: boolean;
}

interface Began {
  readonly tasks: TaskManager;
  readonly resume: (storage?: LogPersistenceStorageProvider) => Promise<RunResult<string>>;
  readonly storage: () => LogPersistenceStorageProvider;
}

const stages: readonly Stage[] = [
  { status: "queued", inFork: "queued", reach: async () => undefined, goesOn: true },
  {
    status: "in_progress",
    inFork: "paused",
    reach: ({ resume, storage }) =>
      resume(crashAfter(storage(), 3) as LogPersistenceStorageProvider).catch(() => undefined),
    goesOn: true,
  },
  { status: "waiting", inFork: "waiting", reach: ({ resume }) => resume(), goesOn: true },
  {
    status: "paused",
    inFork: "paused",
    reach: async ({ resume, tasks }) => {
      await resume();
      await tasks.resume("a");
      await tasks.pause("a", "for lunch");
    },
    goesOn: true,
  },
  {
    status: "failed",
    inFork: "failed",
    reach: async ({ resume, tasks }) => {
      await resume();
      await tasks.fail("a", new Error("broken"));
    },
    goesOn: true,
  },
  {
    status: "cancelled",
    inFork: "cancelled",
    reach: async ({ resume, tasks }) => {
      await resume();
      await tasks.cancel("a", "not needed");
    },
    goesOn: false,
  },
  {
    status: "completed",
    inFork: "completed",
    reach: async ({ resume, tasks }) => {
      await resume();
      await tasks.resume("a");
      await tasks.complete("a", { output: "by hand" });
    },
    goesOn: false,
  },
];

describe.each(logStorages)("$name: a fork of a task", (storage) => {
  it.each(stages)("that is $status is $inFork and a separate task", async ({ status, inFork, reach, goesOn }) => {
    const opened = await storage.open();
    const world = new World();
    const book = world.adder("book");
    const built = chain("shop", {
      order: async (text, { tools }) => (await tools.call(book, { item: text })).made,
      ask: async (text, context) => `${text} ${await context.requestInput({ prompt: "ok?", schema: z.boolean() })}`,
    });
    const agent = (on = opened()) => durableAgent(built, on, { tools: [book] });
    const tasks = new TaskManager({ storage: opened(), clock: new SimulatedClock() });
    await tasks.create({ taskId: "a", taskName: "shopping", inputRequest: "milk", priority: 2 });
    await reach({ tasks, resume: (on) => agent(on).resume(), storage: opened });
    const before = await tasks.get("a");
    expect(before?.status).toBe(status);
    const fork = await persistence(agent()).agent("a").fork("b");
    const task = await tasks.get("b");
    expect(task).toMatchObject({ taskId: "b", taskName: "shopping", priority: 2, status: inFork });
    // That of a task that is paused is the fork's own.
    const newest = status === "paused" && { snapshot: (await fork.getLatestCheckpoint())?.checkpointId };
    if (inFork === status && status !== "queued" && status !== "waiting")
      expect(task?.data).toMatchObject({ ...before?.data, ...newest });
    expect(await tasks.get("a")).toEqual(before);
    if (!goesOn) return;
    const booked = world.items.length;
    const first = await agent().resume({ agentId: "b" });
    expect(first).toMatchObject({ status: "waiting" });
    for (const { requestId } of await fork.getRequests()) await fork.answer(requestId, true);
    expect(await agent().resume({ agentId: "b" })).toMatchObject({ output: "milk true" });
    expect((await tasks.get("b"))?.status).toBe("completed");
    expect(world.items).toHaveLength(Math.max(1, booked));
    expect(await tasks.get("a")).toEqual(before);
  });
});
