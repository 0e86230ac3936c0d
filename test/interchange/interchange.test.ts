import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { persistence, type AgentCheckpointData, type DurableAgent, type PendingInput } from "agent-persistence";
import { SimulatedClock } from "agent-persistence/testing";
import { TaskManager, TaskWorker } from "agent-persistence/task";
import { expect, it, onTestFinished } from "vitest";
import type { AgentRecord } from "../../src/checkpoint/records/AgentRecord.ts";
import { wholeSoak } from "../soak/cases.ts";
import { errand, openStorage, World } from "./agents.ts";
import { agentIds, fixtures, goOn, later, lateAgent, readBack, type Fixture } from "./reading.ts";
import { digest } from "./shown.ts";

const logs = fileURLToPath(new URL("logs/", import.meta.url));
const names = Object.keys(fixtures) as Fixture[];

/** A copy of a stored folder, which goes with the test: nothing may touch the originals. */
function copyOf(name: Fixture): string {
  const directory = mkdtempSync(join(tmpdir(), "agent-interchange-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  cpSync(join(logs, name), directory, { recursive: true });
  return directory;
}

/** What version 0.1.0 itself read of the logs, and what became of them when it went on. */
function expectedOf(name: Fixture): { readonly read: unknown; readonly wentOn: unknown } {
  const text = gunzipSync(readFileSync(join(logs, name, "expected.json.gz"))).toString();
  return JSON.parse(text) as ReturnType<typeof expectedOf>;
}

/** One agent of a copy, as the next process builds it. */
const next = (name: Fixture, agentId: string, directory = copyOf(name), options = {}) =>
  lateAgent(name, { directory, agentId }, options);

function contentOfLogs(): string {
  const files = readdirSync(logs, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).toSorted();
  return digest(paths.map((path) => [path, readFileSync(path)]));
}
const before = contentOfLogs();

it.each(names)("%s: logs of 0.1.0 have the same checkpoints, messages, requests, summaries and tasks", async (name) => {
  expect(asBefore(await readBack(name, copyOf(name)))).toEqual(asBefore(expectedOf(name).read));
});

it.each(names)("%s: logs of 0.1.0 are resumed to the same end without repeating recorded calls", async (name) => {
  expect(asBefore(await goOn(name, copyOf(name)))).toEqual(asBefore(expectedOf(name).wentOn));
});

it.each(names)(
  "%s: agents in logs of 0.1.0 are forked from the head and checkpoints and keep their data",
  async (name) => {
    const directory = copyOf(name);
    for (const agentId of await agentIds(name, directory)) {
      const { durable } = lateAgent(name, { directory, agentId });
      const [checkpoints, requests] = [await durable.getCheckpoints(), await durable.getRequests()];
      const fork = await durable.fork(`${agentId} fork`);
      const ids = checkpoints.map(({ checkpointId }) => checkpointId);
      expect((await fork.getCheckpoints()).slice(0, ids.length).map(({ checkpointId }) => checkpointId)).toEqual(ids);
      expect(await fork.getMessages()).toEqual(await durable.getMessages());
      expect((await fork.getRequests()).map(({ prompt }) => prompt)).toEqual(requests.map(({ prompt }) => prompt));
      expect(await fork.getToolCallsInDoubt()).toEqual([]);
      for (const id of ids.filter((_id, at) => at % (wholeSoak ? 1 : 4) === 0))
        expect((await durable.fork(`${agentId} from ${id}`, { checkpointId: id })).agentId).toContain(id);
      expect(await durable.getCheckpoints()).toEqual(checkpoints);
    }
  },
);

/** What a later version shows otherwise: the id of a request that is asked anew, when it was asked, the format, and texts. */
const shownOtherwise: readonly string[] = ["requestId", "askedAt", "formatVersion", "notChecked"];

function asBefore(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, field: unknown) => (shownOtherwise.includes(key) ? undefined : withoutAgent(field))),
  );
}

/** 0.1.0 did not say in which sub-agent a request is. */
function withoutAgent(field: unknown): unknown {
  if (typeof field !== "object" || field === null || !("waitingFor" in field)) return field;
  const { agentPath: _agentPath, ...request } = field as { readonly agentPath?: unknown };
  return request;
}

/** Every kind that 0.1.0 knew. A kind that comes later is in no log of it: leave it out by `Exclude`. */
const kinds: Readonly<Record<Exclude<AgentRecord["kind"], "ended" | "name" | "origin" | "custody">, true>> = {
  task: true,
  run: true,
  lane: true,
  message: true,
  edit: true,
  storage: true,
  settings: true,
  requirements: true,
  decision: true,
  structure: true,
  answer: true,
  intent: true,
  outcome: true,
  note: true,
  checkpoint: true,
  request: true,
  reply: true,
  status: true,
  rollback: true,
  rollback_step: true,
  inverse: true,
  reverted: true,
  rollback_end: true,
  pruned: true,
  snapshot: true,
};

/** What stands in the lines of all segments: kinds of records, control lines, and lines that a crash has torn. */
function contentsOfSegments(): ReadonlySet<string> {
  const segments = readdirSync(logs, { recursive: true, encoding: "utf8" }).filter(
    (path) => path.endsWith(".jsonl") && !path.startsWith("forks"),
  );
  const found = new Set<string>();
  for (const path of segments)
    for (const line of readFileSync(join(logs, path), "utf8").split("\n").filter(Boolean))
      for (const each of contentsOf(line)) found.add(each);
  return found;
}

function contentsOf(line: string): readonly string[] {
  try {
    const parsed = JSON.parse(line) as unknown[] | Readonly<Record<string, unknown>>;
    const append = Array.isArray(parsed) ? parsed : parsed["snapshot"];
    if (!Array.isArray(append)) return Object.keys(parsed);
    return (append[4] as readonly AgentRecord[]).map(({ kind }) => kind);
  } catch {
    return ["a torn line"];
  }
}

it("the logs of 0.1.0 contain every kind of record and control line, and a torn line", () => {
  const found = contentsOfSegments();
  const control = ["claim", "open", "closed", "dropped"];
  for (const each of [...Object.keys(kinds), ...control, "a torn line"]) expect(found).toContain(each);
});

it("an unfinished run of 0.1.0 is resumed with its records and makes only the missing requests and calls", async () => {
  const { agent, world, durable } = next("loop", "cut");
  expect(await agent.resume({ agentId: "cut" })).toEqual({ status: "completed", runId: "r1", output: "done" });
  expect(world.done.slice(0, 4)).toEqual(["mail Maria", "mail Olga", "mail Peter", "pay Alex"]);
  expect(world.done.slice(4).toSorted()).toEqual(["book Daniel", "report 300", "report 40"]);
  // Of four answers one was recorded.
  expect(world.asked).toBe(3);
  const ids = (await durable.getCheckpoints()).flatMap(({ toolCalls }) => toolCalls.map((each) => each.toolCallId));
  expect(new Set(ids).size).toBe(ids.length);
});

it("a log of 0.1.0 with a torn last line continues after the previous line", async () => {
  const { agent, world } = next("loop", "torn");
  expect(await agent.resume({ agentId: "torn" })).toMatchObject({ status: "completed", output: "done" });
  expect(world.done).not.toContain("book Alex");
  expect(world.asked).toBe(2);
});

it("a call that 0.1.0 stored as settled is not made again unless it was settled with retry", async () => {
  const { agent, world } = next("loop", "settled");
  expect(await agent.resume({ agentId: "settled" })).toMatchObject({ status: "completed" });
  expect(world.done.filter((what) => /^(mail|pay|book Alex)/.test(what))).toEqual(["pay Alex"]);
});

it("a run of 0.1.0 that failed at an edge evaluates only that edge again", async () => {
  const { agent, world } = next("code", "stuck-at-edge");
  expect(await agent.resume({ agentId: "stuck-at-edge" })).toMatchObject({ status: "completed" });
  expect(world.done).toEqual(["book last"]);
  expect(world.asked).toBe(0);
});

it("a log of 0.1.0 whose segments list those of an earlier owner continues from the last owner", async () => {
  const { agent, world, durable } = next("owners", "listed");
  const [call] = await durable.getToolCallsInDoubt();
  expect(call).toMatchObject({ toolName: "book", input: { item: "n 5" } });
  await durable.settleToolCall(call?.toolCallId ?? "", { output: { made: "n 5" } });
  expect(await agent.resume({ agentId: "listed" })).toMatchObject({ status: "completed", output: "n 7" });
  expect(world.done).toEqual(["book n 6"]);
});

it("a log of 0.1.0 accepts a branch from an older checkpoint", async () => {
  const { agent, world } = next("moves", "rolled-back");
  const result = await agent.resume({ agentId: "rolled-back", checkpointId: "1-3" });
  expect(result).toMatchObject({ status: "completed", output: "end of x" });
  expect(world.done).toEqual(["book c", "mail x"]);
});

it("a call that 0.1.0 left in doubt is listed, settled from outside, and not made again", async () => {
  const { agent, durable, world } = next("loop", "in-doubt");
  const calls = await durable.getToolCallsInDoubt();
  expect(calls.map(({ toolName, input }) => [toolName, input])).toEqual([
    ["mail", { item: "Maria" }],
    ["mail", { item: "Olga" }],
    ["mail", { item: "Peter" }],
    ["pay", { item: "Alex" }],
  ]);
  for (const { toolCallId } of calls) await durable.settleToolCall(toolCallId, { output: "settled now" });
  expect(await agent.resume({ agentId: "in-doubt" })).toMatchObject({ status: "completed", output: "done" });
  expect(world.done.filter((what) => !what.startsWith("report"))).toEqual(["book Daniel"]);
  expect(await durable.getToolCallsInDoubt()).toEqual([]);
});

it("an interrupted tool of 0.1.0 is repeated with its recorded calls and responses", async () => {
  const { agent, durable, world } = next("code", "in-plan");
  for (const { toolCallId, toolName } of await durable.getToolCallsInDoubt())
    if (toolName === "book") await durable.settleToolCall(toolCallId, { output: { made: "extra p" } });
  expect(await agent.resume({ agentId: "in-plan" })).toMatchObject({ status: "completed" });
  expect(world.done).toEqual(["plan p", "wipe disk", "mail no address", "mail an address", "book last"]);
});

it("a waiting run of 0.1.0 is answered, waits again, and ends with the answers", async () => {
  const directory = copyOf("asking");
  const asked = next("asking", "waiting", directory);
  const [size] = await inputsOf(asked.durable);
  expect(size).toMatchObject({ prompt: "which shirt?", expiresAt: "2026-03-01T00:00:00.000Z" });
  await asked.durable.answer(size?.requestId ?? "", "S");
  expect(await asked.agent.resume({ agentId: "waiting" })).toMatchObject({ status: "waiting" });
  expect(asked.world.done).toEqual(["book S"]);
  const { agent, durable, world } = next("asking", "waiting", directory);
  const answers = Object.fromEntries(
    (await inputsOf(durable)).map(({ requestId, waitingFor }) => [
      requestId,
      waitingFor === "external_api" ? 3n : { sure: false, at: new Date(0) },
    ]),
  );
  expect(await agent.resume({ agentId: "waiting", answers })).toMatchObject({
    output: "S false 1970-01-01T00:00:00.000Z 3",
  });
  expect(world.done).toEqual(["confirm S"]);
});

it("an answered run of 0.1.0 resumes with the stored answers", async () => {
  const { agent, world } = next("asking", "confirmed");
  expect(await agent.resume({ agentId: "confirmed" })).toMatchObject({ output: "L true 1970-01-01T00:00:00.000Z 7" });
  expect(world.done).toEqual(["confirm L"]);
});

it("a request of 0.1.0 shows why its last answer was refused and accepts another", async () => {
  const { agent, durable } = next("asking", "refused");
  const [request] = await inputsOf(durable);
  expect(request?.problems).toEqual([{ path: "", expected: "a size that there is" }]);
  const answers = { [request?.requestId ?? ""]: "M" };
  expect(await agent.resume({ agentId: "refused", answers })).toMatchObject({ status: "waiting" });
});

it("a rollback to the first checkpoint of a log of 0.1.0 runs the inverses in reverse order with the recorded values", async () => {
  const { agent, durable, world } = next("loop", "finished");
  const report = await durable.rollbackToCheckpoint("1-1");
  expect(world.done).toEqual(["undo Daniel made Daniel", "undo Alex made Alex"]);
  expect(report.reverted.map(({ input, output }) => [input, output])).toEqual([
    [{ item: "Daniel" }, { made: "Daniel" }],
    [{ item: "Alex" }, { made: "Alex" }],
  ]);
  expect(report.irreversible.map(({ toolName }) => toolName)).toEqual([
    "report",
    "report",
    "pay",
    "mail",
    "mail",
    "mail",
  ]);
  expect((await durable.getLatestCheckpoint())?.messageHistory).toEqual([{ role: "system", content: "Act." }]);
  expect(await agent.resume({ agentId: "finished" })).toMatchObject({ runId: "r1", output: "done" });
});

it("an interrupted rollback of 0.1.0 is finished without repeating finished inverses", async () => {
  const { agent, durable, world } = next("moves", "half-back");
  const [inverse] = await durable.getToolCallsInDoubt();
  expect(inverse).toMatchObject({ input: { item: "b" }, reverts: expect.any(String) as string });
  expect(await agent.resume({ agentId: "half-back" })).toMatchObject({ status: "completed", output: "end of x" });
  // c was reverted by 0.1.0.
  expect(world.done).toEqual(["undo b made b", "undo a made a", "book a", "book b", "book c", "mail x"]);
});

it("a rollback that stopped in 0.1.0 at failed inverses continues with their settlements", async () => {
  const { durable, world } = next("moves", "inverse-settled");
  const report = await durable.rollbackToCheckpoint("1-1");
  expect(world.done).toEqual(["undo a made a"]);
  expect(report.failed.map(({ input }) => input)).toEqual([{ item: "c" }]);
});

it("an interrupted rollback of files of 0.1.0 continues and restores their contents", async () => {
  const { durable, place, storage } = next("files", "half-back");
  const report = await durable.rollbackToCheckpoint("1-2");
  expect(report.participants).toHaveLength(1);
  expect(filesOf(join(place.directory, "workspaces", "half-back"))).toEqual(untouched);
  // Each step once, whoever took it.
  const steps: number[] = [];
  for await (const { records } of storage.log.read("half-back"))
    for (const record of records as readonly AgentRecord[])
      if (record.kind === "rollback_step") steps.push(record.step);
  expect(steps).toEqual(steps.map((_step, at) => at));
  expect(steps.length).toBeGreaterThan(2);
});

it("the files of an unfinished run of 0.1.0 can be rolled back after it has finished", async () => {
  const { agent, durable, place } = next("files", "cut");
  const root = join(place.directory, "workspaces", "cut");
  expect(await agent.resume({ agentId: "cut" })).toMatchObject({ output: "edited" });
  expect(filesOf(root)).toEqual({ "a.txt": "TWO AND ONLY\n", "c.txt": "SEE\n", "made/b.txt": "b ".repeat(300) });
  await durable.rollbackToCheckpoint("1-2");
  expect(filesOf(root)).toEqual(untouched);
});

async function inputsOf(durable: DurableAgent): Promise<readonly PendingInput[]> {
  return (await durable.getRequests()).filter((request) => request.kind === "input");
}

/** The files of a workspace before the agent began. */
const untouched = { "a.txt": "one and only\n", "old.txt": "old\n", "c.txt": "see\n" };

function filesOf(root: string): Readonly<Record<string, string>> {
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name));
  return Object.fromEntries(paths.map((path) => [path.slice(root.length + 1), readFileSync(path, "utf8")]));
}

const pruneTo3 = { maxCheckpoints: 3, completedDays: Infinity, failedDays: Infinity };

it.each([
  ["loop", "finished", ["1-1", "2-12"]],
  ["pruned", "prune-cut", undefined],
  ["pruned", "snapshot-pruned", undefined],
  ["code", "stuck-at-edge", undefined],
  ["moves", "imported", undefined],
] as const)(
  "pruning the log of 0.1.0 in %s keeps of %s the required checkpoints unchanged",
  async (name, agentId, stays) => {
    const { agent, durable, storage } = next(name, agentId);
    const all = await durable.getCheckpoints();
    const messages = await durable.getMessages();
    const report = await persistence(agent).prune({ agentId, policy: pruneTo3 });
    expect(report).toMatchObject({ busy: [], failed: [] });
    const after = await durable.getCheckpoints();
    expect(after.length).toBeGreaterThan(1);
    const gone = report.pruned.flatMap(({ checkpointIds }) => checkpointIds);
    const ids = after.map(({ checkpointId }) => checkpointId);
    if (stays) expect(ids).toEqual(stays);
    expect([...gone, ...ids].toSorted()).toEqual(all.map(({ checkpointId }) => checkpointId).toSorted());
    for (const data of after)
      expect(startOf(data)).toEqual(startOf(all.find(({ checkpointId }) => checkpointId === data.checkpointId)));
    expect(await durable.getMessages()).toEqual(messages);
    expect(await storage.log.unremovedBytes?.(agentId)).toBe(0);
  },
);

it("an interrupted pruning of 0.1.0 that was recorded is finished", async () => {
  const { agent, durable, storage } = next("pruned", "prune-cut");
  const kept = await durable.getCheckpoints();
  expect(await storage.log.unremovedBytes?.("prune-cut")).toBeGreaterThan(0);
  const { pruned } = await persistence(agent).prune({ agentId: "prune-cut", policy: pruneTo3 });
  expect(pruned).toMatchObject([{ checkpointIds: [] }]);
  expect(await storage.log.unremovedBytes?.("prune-cut")).toBe(0);
  expect(await durable.getCheckpoints()).toEqual(kept);
});

it("pruning logs of 0.1.0 drops only expired agents", async () => {
  const { agent, storage } = next("loop", "finished");
  const { pruned } = await persistence(agent).prune({ now: later });
  expect(pruned).toMatchObject([{ agentId: "finished", dropped: true }]);
  const left: string[] = [];
  for await (const { agentId } of storage.log.list()) left.push(agentId);
  expect(left.toSorted()).toEqual(["aborted", "cut", "handled", "in-doubt", "settled", "torn"]);
});

it("a run that 0.1.0 pruned continues and is rolled back to its start", async () => {
  const { agent, durable, world } = next("pruned", "pruned-in-run");
  const [call] = await durable.getToolCallsInDoubt();
  await durable.settleToolCall(call?.toolCallId ?? "", "retry");
  expect(await agent.resume({ agentId: "pruned-in-run" })).toMatchObject({ output: "n 7" });
  expect(world.done.splice(0)).toEqual(["book n 6"]);
  const [first] = await durable.getCheckpoints();
  await durable.rollbackToCheckpoint(first?.checkpointId ?? "");
  expect(world.done).toEqual([6, 5, 4, 3, 2, 1, 0].map((at) => `undo n ${at} made n ${at}`));
});

it("an agent that was deleted in 0.1.0 does not exist, and its id can be used again", async () => {
  const { agent, durable } = next("pruned", "deleted");
  expect(await durable.getCheckpoints()).toEqual([]);
  expect(await agent.run("n 6" as never, { agentId: "deleted" })).toMatchObject({ status: "completed", output: "n 7" });
  expect((await durable.getCheckpoints())[0]).toMatchObject({
    checkpointId: "4-1",
    messageHistory: [{ role: "system", content: "Act." }],
  });
});

/** Of a checkpoint what a run that goes on from it begins with. */
function startOf(data: AgentCheckpointData | undefined) {
  if (!data) return undefined;
  const { messageHistory, storage, lastInput, nodeId, version } = data;
  return { messageHistory, storage, lastInput, nodeId, version };
}

it("a worker runs tasks of 0.1.0 by priority, and interrupted ones before the queue", async () => {
  const directory = copyOf("tasks");
  const world = new World();
  const clock = new SimulatedClock(later);
  const storage = openStorage(directory);
  const tasks = new TaskManager({ storage, clock });
  const outcomes: unknown[] = [];
  await new TaskWorker({
    tasks,
    agents: { errand: errand(world, openStorage(directory), { clock }) },
    onOutcome: ({ taskId, outcome, recovered }) => void outcomes.push([taskId, outcome, recovered]),
  }).run();
  expect(outcomes).toEqual([
    ["queued", "completed", false],
    ["cut", "completed", true],
    ["restarted", "completed", false],
    ["retried", "completed", false],
  ]);
  expect(world.done.filter((what) => what.startsWith("book cut"))).toEqual(["book cut 2"]);
  const statuses: Record<string, string> = {};
  for await (const { taskId, status } of tasks.list()) statuses[taskId] = status;
  expect(statuses).toEqual({
    cancelled: "cancelled",
    completed: "completed",
    cut: "completed",
    "failed-for-good": "failed",
    paused: "paused",
    queued: "completed",
    restarted: "completed",
    retried: "completed",
    "run-completed": "completed",
    "run-failed": "failed",
    waiting: "waiting",
  });
});

it("a task manager changes tasks of 0.1.0 as their status permits", async () => {
  const tasks = new TaskManager({ storage: openStorage(copyOf("tasks")), clock: new SimulatedClock(later) });
  expect(await tasks.resume("paused")).toMatchObject({ status: "in_progress" });
  expect(await tasks.retry("run-failed")).toMatchObject({ status: "queued" });
  expect(await tasks.cancel("waiting")).toMatchObject({ status: "cancelled" });
  await expect(tasks.retry("failed-for-good")).rejects.toMatchObject({ code: "transition_not_allowed" });
});

it("a finished run of 0.1.0 returns its recorded output, and another run continues its history", async () => {
  const { agent, durable, world } = next("loop", "finished");
  const agentId = "finished";
  expect(await agent.run("sign them up" as never, { agentId, runId: "r1" })).toMatchObject({ output: "done" });
  expect(world.done).toEqual([]);
  const messages = await durable.getMessages();
  const failed = agent.run("and more" as never, { agentId, runId: "r3", history: "continue" });
  // The script has ended; the messages are there all the same.
  await expect(failed).rejects.toMatchObject({ code: "script_ended" });
  expect((await durable.getMessages()).slice(0, messages.length)).toEqual(messages);
});

it("the stored logs are unchanged after these tests", () => {
  expect(contentOfLogs()).toBe(before);
});
