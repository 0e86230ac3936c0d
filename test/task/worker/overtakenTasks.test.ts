import { randomBytes } from "node:crypto";
import { InMemoryPersistenceStorageProvider, persistence } from "agent-persistence";
import { redaction } from "agent-persistence/encryption";
import { TaskManager, TaskWorker, type TaskOutcome } from "agent-persistence/task";
import { exportAgent } from "agent-persistence/transfer";
import { expect, it } from "vitest";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { bytesOf } from "../../transfer/movedAgents.ts";
import { oneNode } from "./oneNode.ts";

const pollMs = 10;
const echo = oneNode((input) => input);
const echoOn = (storage: InMemoryPersistenceStorageProvider) => durableAgent(echo, storage);

function worked(tasks: TaskManager, storage: InMemoryPersistenceStorageProvider, outcomes: TaskOutcome[]) {
  const stop = new AbortController();
  const onOutcome = (outcome: TaskOutcome): void => {
    outcomes.push(outcome);
    if (outcome.taskId === "later") stop.abort();
  };
  return new TaskWorker({ tasks, agents: echoOn(storage), onOutcome }).run({ pollMs, signal: stop.signal });
}

it.each([
  ["moved", {}],
  ["moved", { expiresAt: new Date(0) }],
  ["deleted", {}],
  ["deleted", { expiresAt: new Date(0) }],
] as const)(
  "a polling worker runs the next task if a listed task is %s by another process: %j",
  async (end, controls) => {
    const storage = new InMemoryPersistenceStorageProvider();
    const tasks = new TaskManager({ storage });
    await tasks.create({ taskId: "first", taskName: "n", inputRequest: "", priority: 1, ...controls });
    await tasks.create({ taskId: "later", taskName: "n", inputRequest: "" });
    const claimable = tasks.claimable.bind(tasks);
    tasks.claimable = async function* (scope) {
      for await (const task of claimable(scope)) {
        if (task.taskId === "first" && end === "moved") await bytesOf(exportAgent(storage, "first", { move: true }));
        else if (task.taskId === "first")
          await persistence(
            durableAgent(
              oneNode((input) => input),
              storage,
            ),
          ).deleteAgent("first");
        yield task;
      }
    };
    const outcomes: TaskOutcome[] = [];
    await worked(tasks, storage, outcomes);
    expect(outcomes).toMatchObject([{ taskId: "later", outcome: "completed" }]);
  },
);

it("a polling worker without a vault leaves a task that needs one, and runs the next task", async () => {
  const key = randomBytes(32);
  const vault = { keys: { current: "1", get: () => key } };
  const storage = new InMemoryPersistenceStorageProvider();
  const withVault = new TaskManager({ storage, redact: redaction({ paths: ["input.card"], vault }) });
  await withVault.create({ taskId: "secret", taskName: "n", inputRequest: { card: "4111" }, priority: 1 });
  const tasks = new TaskManager({ storage });
  await tasks.create({ taskId: "later", taskName: "n", inputRequest: "" });
  const outcomes: TaskOutcome[] = [];
  await worked(tasks, storage, outcomes);
  expect(outcomes).toMatchObject([
    { taskId: "secret", outcome: "interrupted", error: { code: "not_supported" } },
    { taskId: "later", outcome: "completed" },
  ]);
  expect(await tasks.get("secret")).toMatchObject({ status: "queued" });
});
