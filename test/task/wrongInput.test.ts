import { AIAgent, InMemoryPersistenceStorageProvider } from "agent-persistence";
import {
  allowedTransitions,
  diskUsage,
  findOverlaps,
  InProcessReservations,
  isResumable,
  nodeEnvironment,
  recoverTask,
  recoverTasks,
  RetentionSchedule,
  TaskManager,
  TaskWorker,
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
  ["a manager without a storage", "storage", () => new TaskManager(wrong({}))],
  ["a manager with the name of a storage", "storage", () => new TaskManager({ storage: wrong("./data") })],
  ["agents in a Map", "agents", worker({ agents: new Map([["import", agent]]) })],
  ["agents in an array", "agents", worker({ agents: [agent] })],
  ["agents that are still awaited", "agents", worker({ agents: Promise.resolve(agent) })],
  ["agents that an object inherits", "agents", worker({ agents: Object.create({ import: agent }) as object })],
  ["an invalid clock", "clock", () => new TaskManager({ storage, clock: wrong({}) })],
  ["a transition without a task", "task", () => transitionTask(wrong(undefined), move)],
  ["an unknown transition", "task.taskId", () => transitionTask(wrong({ status: "queued", data: {} }), move)],
  ["a transition without a target", "to", () => transitionTask(exampleTask("queued"), wrong({ ...move, to: "done" }))],
  ["a transition without a time", "at", () => transitionTask(exampleTask("queued"), { ...move, at: "today" })],
  ["transitions without a task", "", () => allowedTransitions(wrong(undefined))],
  ["transitions of an unknown status", "status", () => allowedTransitions(wrong({ status: "done", data: {} }))],
  ["moves of a task without data", "data", () => allowedTransitions(wrong({ status: "failed" }))],
  ["a check without a task", "task", () => isResumable(wrong(undefined))],
  ["a check of an unknown status", "task.status", () => isResumable(wrong({ status: "done", data: {} }))],
  ["an owner without a state", "owner", () => isResumable(exampleTask("in_progress"), wrong("dead"))],
  ["overlaps without a list", "", () => findOverlaps(wrong(undefined))],
  ["overlaps of invalid tasks", "0", () => findOverlaps(wrong([5]))],
  ["files that are not a list", "0.reserves", () => findOverlaps(wrong([{ reserves: "a.ts" }]))],
  ["a file that is only a path", "1.reserves.0", () => findOverlaps(wrong([{}, { reserves: ["a.ts"] }]))],
  ["a worker without tasks", "tasks", worker({ tasks: {} })],
  ["a worker with invalid agents", "agents", worker({ agents: { import: {} } })],
  ["a worker without agents", "agents", worker({ agents: undefined })],
  ["a worker with a concurrency of zero", "concurrency", worker({ concurrency: 0 })],
  ["invalid reservations", "reservations", worker({ reservations: {} })],
  ["an invalid outcome listener", "onOutcome", worker({ onOutcome: "log" })],
  ["an invalid event listener", "onEvent", worker({ onEvent: "log" })],
  ["a cron expression with an invalid hour", "schedule", schedule({ schedule: "0 24 * * *" })],
  ["a time of day instead of a cron expression", "schedule", schedule({ schedule: "03:00" })],
  ["a cron expression with seconds", "schedule", schedule({ schedule: "0 0 3 * * *" })],
  ["a cron expression that no date matches", "schedule", schedule({ schedule: "0 3 30 2 *" })],
  ["a date instead of a cron expression", "schedule", schedule({ schedule: "2099-01-01T03:00:00" })],
  ["a cron expression that is an empty string", "schedule", schedule({ schedule: "" })],
  ["a cron expression that is a number", "schedule", schedule({ schedule: 3 })],
  ["a disk usage that is not a function", "diskUsage", schedule({ diskUsage: 0.5 })],
  ["the disk usage of a directory that is not text", "directory", () => diskUsage(wrong(undefined))],
  ["the disk usage of a directory without a name", "directory", () => diskUsage("")],
  ["an environment whose options are text", "", () => nodeEnvironment(wrong("."))],
  ["a working directory that is not text", "workingDirectory", () => nodeEnvironment({ workingDirectory: wrong(5) })],
  ["a working directory without a name", "workingDirectory", () => nodeEnvironment({ workingDirectory: "" })],
  ["versions that are not an object", "versions", () => nodeEnvironment({ versions: wrong("3.12") })],
  [
    "a version that is not a function",
    "versions.python",
    () => nodeEnvironment({ versions: { python: wrong("3.12") } }),
  ],
  ["a schedule whose options are text", "", schedule("03:00")],
])("agent-persistence/task refuses %s and names the location", (_name, path, call) => {
  expect(call).toThrow(
    expect.objectContaining({ code: "invalid_input", problems: [expect.objectContaining({ path })] }),
  );
});

it("a worker refuses an agent that lacks Persistence", () => {
  const plain = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "m" });
  const refused = (neededBy: string) =>
    expect.objectContaining({ code: "feature_not_installed", feature: "Persistence", neededBy }) as unknown;
  expect(() => new TaskWorker({ tasks, agents: plain })).toThrow(refused("The agent of the worker"));
  expect(() => new TaskWorker({ tasks, agents: { good: agent, plain } })).toThrow(
    refused('The agent "plain" of the worker'),
  );
});

type Verb = (manager: TaskManager) => unknown;

const reserved = { path: "a.ts", operation: "write" } as const;

describe("a misspelled option", () => {
  it.each<readonly [string, string, string, Verb]>([
    ["of a task manager", "", "onEvent", () => new TaskManager(wrong({ storage, onEvents: () => {} }))],
    ["of a task list", "", "limit", (manager) => manager.list(wrong({ limits: 3 })).next()],
    ["of a new task", "", "priority", (manager) => manager.create(wrong({ ...newTask, priorty: 3 }))],
    [
      "of a file that a new task reserves",
      "reserves.0",
      "operation",
      (manager) => manager.create({ ...newTask, reserves: [wrong({ ...reserved, operations: "read" })] }),
    ],
    ["of a pause", "options", "interrupt", (manager) => manager.pause("t", "lunch", wrong({ interupt: false }))],
    ["of a cancellation", "options", "timeoutMs", (manager) => manager.cancel("t", "no", wrong({ timeoutMS: 1 }))],
    ["of a wait", "", "timeoutAt", (manager) => manager.wait("t", wrong({ ...asked, timeoutsAt: "soon" }))],
    [
      "of a completion",
      "",
      "verificationResults",
      (manager) => manager.complete("t", wrong({ output: 1, verificationResult: [] })),
    ],
    ["of a failure", "", "recoverable", (manager) => manager.fail("t", "x", wrong({ recoverables: false }))],
    ["of a transition", "", "data", () => transitionTask(exampleTask("queued"), wrong({ ...move, date: {} }))],
    ["of a worker", "", "concurrency", () => new TaskWorker(wrong({ tasks, agents: agent, concurency: 2 }))],
    ["of a worker's run", "", "pollMs", () => new TaskWorker({ tasks, agents: agent }).run(wrong({ pollMS: 1 }))],
    [
      "of a reservation",
      "options",
      "owner",
      () => new InProcessReservations().acquire([reserved], wrong({ owner: "t", owners: "t" })),
    ],
    ["of a recovery", "", "agentId", () => recoverTask(agent, wrong({ agentID: "t" }))],
    ["of a recovery of all agents", "", "only", () => recoverTasks(agent, wrong({ onyl: () => true })).next()],
    ["of a retention schedule", "", "schedule", () => new RetentionSchedule(agent, wrong({ shedule: false }))],
    ["of the environment", "", "workingDirectory", () => nodeEnvironment(wrong({ workingDirectry: "." }))],
  ])("%s is refused, and the message suggests the right name", async (_name, path, meant, call) => {
    const refused = Promise.resolve(tasks).then(call);
    await expect(refused).rejects.toMatchObject({
      code: "invalid_input",
      problems: [{ path, expected: expect.stringContaining(`did you mean "${meant}"`) }],
    });
  });
});

describe.each(logStorages)("invalid input is refused without changes, on storage in $name", ({ open }) => {
  it.each<readonly [string, string, Verb]>([
    ["an invalid completion", "", (manager) => manager.complete("t", wrong(undefined))],
    [
      "invalid verification results",
      "verificationResults",
      (manager) => manager.complete("t", { output: 1, verificationResults: wrong("ok") }),
    ],
    ["a failure whose options are text", "", (manager) => manager.fail("t", "x", wrong("for good"))],
    ["an incomplete failure", "recoverable", (manager) => manager.fail("t", "x", { recoverable: wrong("no") })],
    ["a wait without a reason", "", (manager) => manager.wait("t", wrong(undefined))],
    [
      "a wait for an unknown reason",
      "waitingFor",
      (manager) => manager.wait("t", { ...asked, waitingFor: wrong("typo") }),
    ],
    ["a wait with an invalid timeout", "timeoutAt", (manager) => manager.wait("t", { ...asked, timeoutAt: "soon" })],
    ["a pause without a reason", "reason", (manager) => manager.pause("t", wrong(undefined))],
    [
      "a pause with an invalid time",
      "options.timeoutMs",
      (manager) => manager.pause("t", "lunch", { timeoutMs: Number.NaN }),
    ],
    ["a cancellation without a reason", "reason", (manager) => manager.cancel("t", wrong(5))],
    ["a list of an unknown status", "status", (manager) => manager.list({ status: wrong("done") }).next()],
    ["a list with an invalid limit", "limit", (manager) => manager.list({ limit: Number.NaN }).next()],
    ["a cursor that is not text", "after", (manager) => manager.list({ after: wrong(2) }).next()],
    ["a cursor that is empty", "after", (manager) => manager.list({ after: "" }).next()],
    ["a task id instead of a cursor", "after", (manager) => manager.list({ after: "t" }).next()],
    ["a cursor without a date", "after", (manager) => manager.list({ after: "2026-13-45T00:00:00.000Z t" }).next()],
    ["a cursor without its id", "after", (manager) => manager.list({ after: "2026-01-01T00:00:00.000Z " }).next()],
    ["a recovery whose options are text", "", () => recoverTask(agent, wrong("t"))],
    ["an invalid confirmation", "confirm", () => recoverTask(agent, { confirm: wrong("maybe") })],
    [
      "a poll with an invalid interval",
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

const newTask = { taskName: "n", inputRequest: 1 } as const;
const asked = { waitingFor: "external_api", promptShownToUser: "called back?" } as const;

it("a task with an input too large for a run is refused at creation", async () => {
  const own = new InMemoryPersistenceStorageProvider();
  const inputRequest = "x".repeat(6_000_000);
  const manager = new TaskManager({ storage: own });
  await expect(manager.create({ taskName: "t", inputRequest })).rejects.toMatchObject({
    code: "checkpoint_too_large",
    parts: [{ name: "the input of the run" }],
  });
  for await (const summary of own.log.list()) expect.unreachable(summary.agentId);
  const generous = new TaskManager({ storage: own, maxCheckpointBytes: 7_000_000 });
  expect(await generous.create({ taskName: "t", inputRequest })).toMatchObject({ status: "queued" });
});
