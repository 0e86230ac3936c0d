import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import type { PersistenceEvent } from "agent-persistence";
import { TaskManager, TaskWorker, type Task, type TaskOutcome } from "agent-persistence/task";
import { expect, it } from "vitest";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { agentPath, collect, testDirectory } from "../../storage/file/support/fixture.ts";
import { oneNode } from "../worker/oneNode.ts";

/** Tasks a, b and c. The owners of b are more than those of a; c is completed. */
async function threeTasks() {
  const directory = await testDirectory();
  const open = () => new FilePersistenceStorageProvider({ directory });
  const tasks = new TaskManager({ storage: open() });
  for (const taskId of ["a", "b", "c"]) await tasks.create({ taskId, taskName: "echo", inputRequest: taskId });
  await tasks.start("b");
  await tasks.pause("b", "lunch");
  await tasks.resume("b");
  await tasks.fail("b", new Error("x"));
  await tasks.start("c");
  await tasks.complete("c", { output: "done" });
  return { directory, open, tasks };
}

const statePath = (directory: string, taskId: string) => join(agentPath(directory, taskId), "state.json");

/** The file with other fields, and a checksum that fits them. */
async function forge(path: string, change: (state: object) => object): Promise<void> {
  const { checksum: _checksum, ...state } = JSON.parse(await readFile(path, "utf8")) as { checksum: string };
  const covered = JSON.stringify(change(state)).slice(0, -1);
  await writeFile(path, `${covered},"checksum":"${nodeSha256.hex(covered)}"}\n`);
}

const shown = (tasks: readonly Task[]) => tasks.map(({ taskId, status }) => `${taskId} ${status}`).toSorted();

it("a state.json of another agent damages only that file: the task is listed, read, run and reported", async () => {
  const { directory, open, tasks } = await threeTasks();
  await writeFile(statePath(directory, "a"), await readFile(statePath(directory, "b")));
  expect(await tasks.get("a")).toMatchObject({ status: "queued" });
  expect(shown(await collect(tasks.list()))).toEqual(["a queued", "b failed", "c completed"]);
  expect(shown(await collect(tasks.list({ status: "queued" })))).toEqual(["a queued"]);
  const events: PersistenceEvent[] = [];
  const outcomes: TaskOutcome[] = [];
  const agents = durableAgent(
    oneNode((input) => input),
    open(),
    { onEvent: (event) => void events.push(event) },
  );
  await new TaskWorker({ tasks, agents, onOutcome: (outcome) => void outcomes.push(outcome) }).run();
  expect(outcomes).toMatchObject([{ taskId: "a", outcome: "completed" }]);
  expect(events.filter(({ type }) => type === "summary_rebuilt")).toMatchObject([
    { agentId: "a", file: statePath(directory, "a") },
  ]);
  expect(JSON.parse(await readFile(statePath(directory, "a"), "utf8"))).toMatchObject({ task_id: "a" });
});

it.each([
  ["data of another status", (state: object) => ({ ...state, data: { paused_at: "now" } })],
  ["no data", (state: object) => ({ ...state, data: null })],
  ["data of a wrong type", (state: object) => ({ ...state, data: "done" })],
  ["an invalid list", (state: object) => ({ ...state, data: { verification_results: 5 } })],
])("a state.json with %s and a valid checksum fails no list, because the log has the task", async (_name, change) => {
  const { directory, open, tasks } = await threeTasks();
  for (const taskId of ["a", "b", "c"]) await forge(statePath(directory, taskId), change);
  expect(shown(await collect(tasks.list()))).toEqual(["a queued", "b failed", "c completed"]);
  expect(shown(await collect(tasks.list({ status: "completed" })))).toEqual(["c completed"]);
  const rebuilt: string[] = [];
  const agents = durableAgent(
    oneNode((input) => input),
    open(),
    { onEvent: ({ type, agentId }) => void (type === "summary_rebuilt" && rebuilt.push(agentId)) },
  );
  await new TaskWorker({ tasks, agents }).run();
  expect(await tasks.get("a")).toMatchObject({ status: "completed" });
  await tasks.retry("b");
  await new TaskWorker({ tasks, agents }).run();
  expect(shown(await collect(tasks.list()))).toEqual(["a completed", "b completed", "c completed"]);
  expect(rebuilt).toEqual(["a"]);
});

it("an outdated state.json of an earlier owner hides its task from no list, and is rebuilt and reported", async () => {
  const { directory, open, tasks } = await threeTasks();
  await collect(tasks.list({ status: "queued" }));
  const path = statePath(directory, "a");
  const older = await readFile(path);
  await tasks.start("a");
  await tasks.fail("a", new Error("x"));
  await writeFile(path, older);
  expect(shown(await collect(tasks.list()))).toEqual(["a failed", "b failed", "c completed"]);
  const rebuilt: PersistenceEvent[] = [];
  const reporting = new TaskManager({
    storage: open(),
    onEvent: (event) => void (event.type === "summary_rebuilt" && rebuilt.push(event)),
  });
  await reporting.retry("a");
  expect(rebuilt).toMatchObject([{ agentId: "a", file: path }]);
  expect(shown(await collect(tasks.list({ status: "queued" })))).toEqual(["a queued"]);
  expect(await collect(tasks.claimable())).toMatchObject([{ taskId: "a" }]);
});

it("an outdated state.json of the same owner is ignored if the index has a newer one", async () => {
  const directory = await testDirectory();
  const open = () => new FilePersistenceStorageProvider({ directory });
  const tasks = new TaskManager({ storage: open() });
  await tasks.create({ taskId: "t", taskName: "echo", inputRequest: "in" });
  await collect(tasks.list({ status: "queued" }));
  let older = Buffer.alloc(0);
  const agents = durableAgent(
    oneNode(async (input) => {
      older = await readFile(statePath(directory, "t"));
      return input;
    }),
    open(),
  );
  await new TaskWorker({ tasks, agents }).run();
  expect(JSON.parse(older.toString())).toMatchObject({ status: "in_progress" });
  await writeFile(statePath(directory, "t"), older);
  expect(shown(await collect(tasks.list()))).toEqual(["t completed"]);
  expect(shown(await collect(tasks.list({ status: "in_progress" })))).toEqual([]);
  expect(shown(await collect(tasks.list({ status: "completed" })))).toEqual(["t completed"]);
});
