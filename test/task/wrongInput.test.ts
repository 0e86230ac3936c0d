import { AIAgent, InMemoryPersistenceStorageProvider } from "agent-persistence";
import {
  allowedTransitions,
  findOverlaps,
  isResumable,
  RetentionSchedule,
  TaskManager,
  TaskWorker,
  recoverTask,
  transitionTask,
} from "agent-persistence/task";
import { scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { defaultLoop } from "../persistence/support/defaultLoop.ts";
import { durableAgent } from "../persistence/support/durableAgent.ts";
import { logStorages } from "../persistence/support/storages.ts";
import { recordsOf } from "../persistence/support/stored.ts";
import { exampleTask } from "./exampleTask.ts";

/** Whatever JavaScript may hand over, the types notwithstanding. */
const wrong = (value: unknown): never => value as never;

const storage = new InMemoryPersistenceStorageProvider();
const agent = durableAgent(defaultLoop, storage);
const tasks = new TaskManager({ storage });
const schedule = (options: unknown) => () => new RetentionSchedule(agent, wrong(options));
const worker = (options: object) => () => new TaskWorker({ tasks, agents: agent, ...options });
const cancelled = { cancelledAt: "2026-01-01T00:00:00.000Z" };
const move = { to: "cancelled", at: cancelled.cancelledAt, data: cancelled } as const;

it.each<readonly [string, string, () => unknown]>([
  ["a manager without options", "", () => new TaskManager(wrong(undefined))],
  ["a clock that is none", "clock", () => new TaskManager({ storage, clock: wrong({}) })],
  ["a transition of no task", "task", () => transitionTask(wrong(undefined), move)],
  ["a transition of something else", "task.taskId", () => transitionTask(wrong({ status: "queued", data: {} }), move)],
  ["a transition nowhere", "to", () => transitionTask(exampleTask("queued"), wrong({ ...move, to: "done" }))],
  ["a transition at no time", "at", () => transitionTask(exampleTask("queued"), { ...move, at: "today" })],
  ["moves of no task", "", () => allowedTransitions(wrong(undefined))],
  ["moves of a status that is none", "status", () => allowedTransitions(wrong({ status: "done", data: {} }))],
  ["moves of a task without data", "data", () => allowedTransitions(wrong({ status: "failed" }))],
  ["a question about no task", "task", () => isResumable(wrong(undefined))],
  ["a question about a status that is none", "task.status", () => isResumable(wrong({ status: "done", data: {} }))],
  ["an owner in no state", "owner", () => isResumable(exampleTask("in_progress"), wrong("dead"))],
  ["overlaps of no list", "", () => findOverlaps(wrong(undefined))],
  ["overlaps of what are no tasks", "0", () => findOverlaps(wrong([5]))],
  ["files that are no list", "0.reserves", () => findOverlaps(wrong([{ reserves: "a.ts" }]))],
  ["a file that is only a path", "1.reserves.0", () => findOverlaps(wrong([{}, { reserves: ["a.ts"] }]))],
  ["a worker without tasks", "tasks", worker({ tasks: {} })],
  ["a worker whose agents are none", "agents", worker({ agents: { import: {} } })],
  ["a worker without agents", "agents", worker({ agents: undefined })],
  ["a worker that runs nothing", "concurrency", worker({ concurrency: 0 })],
  ["reservations that are none", "reservations", worker({ reservations: {} })],
  ["an outcome told to nobody", "onOutcome", worker({ onOutcome: "log" })],
  ["a time of day that is none", "dailyAt", schedule({ dailyAt: "24:00" })],
  ["a disk use that is none", "diskUse", schedule({ diskUse: 0.5 })],
  ["a schedule whose options are text", "", schedule("03:00")],
])("refuses %s, and says where", (_name, path, call) => {
  expect(call).toThrow(
    expect.objectContaining({ code: "invalid_input", problems: [expect.objectContaining({ path })] }),
  );
});

it("refuses a worker with an agent that lacks Persistence", () => {
  const plain = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "m" });
  for (const agents of [plain, { good: agent, plain }])
    expect(() => new TaskWorker({ tasks, agents })).toThrow(
      expect.objectContaining({ code: "feature_not_installed", feature: "Persistence" }),
    );
});

type Verb = (manager: TaskManager) => unknown;

describe.each(logStorages)("what is wrong is refused, and nothing changes, on storage in $name", ({ open }) => {
  it.each<readonly [string, string, Verb]>([
    ["an end that is none", "", (manager) => manager.complete("t", wrong(undefined))],
    [
      "a verification that is none",
      "verificationResults",
      (manager) => manager.complete("t", { output: 1, verificationResults: wrong("ok") }),
    ],
    ["a failure whose options are text", "", (manager) => manager.fail("t", "x", wrong("for good"))],
    ["half a failure", "recoverable", (manager) => manager.fail("t", "x", { recoverable: wrong("no") })],
    ["a wait for nothing", "", (manager) => manager.wait("t", wrong(undefined))],
    ["a wait for what is none", "waitingFor", (manager) => manager.wait("t", { ...asked, waitingFor: wrong("typo") })],
    ["a wait until no time", "timeoutAt", (manager) => manager.wait("t", { ...asked, timeoutAt: "soon" })],
    ["a pause without a reason", "reason", (manager) => manager.pause("t", wrong(undefined))],
    ["a pause for no time", "options.timeoutMs", (manager) => manager.pause("t", "lunch", { timeoutMs: Number.NaN })],
    ["a cancellation for no reason", "reason", (manager) => manager.cancel("t", wrong(5))],
    ["a list of a status that is none", "status", (manager) => manager.list({ status: wrong("done") }).next()],
    ["a list of no length", "limit", (manager) => manager.list({ limit: Number.NaN }).next()],
    ["a page that is none", "page", (manager) => manager.list({ page: 0 }).next()],
    ["a recovery whose options are text", "", () => recoverTask(agent, wrong("t"))],
    ["a confirmation that is none", "confirm", () => recoverTask(agent, { confirm: wrong("maybe") })],
    [
      "a poll at no time",
      "pollMs",
      (manager) => new TaskWorker({ tasks: manager, agents: agent }).run({ pollMs: NaN }),
    ],
  ])("%s", async (_name, path, verb) => {
    const opened = (await open())();
    const manager = new TaskManager({ storage: opened });
    await manager.create({ taskId: "t", taskName: "n", inputRequest: 1 });
    await manager.start("t");
    const before = await recordsOf(opened, "t");
    await expect(Promise.resolve().then(() => verb(manager))).rejects.toMatchObject({
      code: "invalid_input",
      problems: [{ path }],
    });
    expect(await recordsOf(opened, "t")).toEqual(before);
  });
});

const asked = { waitingFor: "external_api", promptShownToUser: "called back?" } as const;
