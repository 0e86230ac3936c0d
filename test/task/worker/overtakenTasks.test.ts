import { randomBytes } from "node:crypto";
import { InMemoryPersistenceStorageProvider, persistence } from "agent-persistence";
import { redaction } from "agent-persistence/encryption";
import { TaskManager, TaskWorker, type TaskOutcome } from "agent-persistence/task";
import { exportAgent } from "agent-persistence/transfer";
import { expect, it } from "vitest";
import { RecoveryRefusedError } from "../../../src/errors/checkpointErrors.ts";
import { StatusChangedError, StopRequestedError } from "../../../src/errors/runErrors.ts";
import { AgentBusyError, OwnershipLostError, StorageError } from "../../../src/errors/storageErrors.ts";
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

it.each([
  new AgentBusyError("other", { host: "h", processId: 1, nonce: "n", generation: 1 }, 1),
  new StatusChangedError("other", "paused", ["queued"]),
  new StopRequestedError("other", "a reason"),
  new OwnershipLostError("other", 1),
  new RecoveryRefusedError("other", "a reason"),
  new StorageError("unavailable", "read", "another storage"),
])(
  "a worker reports the failure of a task that throws an error of another agent, and retries it: $code",
  async (error) => {
    const storage = new InMemoryPersistenceStorageProvider();
    const tasks = new TaskManager({ storage });
    await tasks.create({ taskId: "t", taskName: "n", inputRequest: "", retries: 1, retryDelayMs: 0 });
    const agents = durableAgent(
      oneNode(() => Promise.reject(error)),
      storage,
    );
    const outcomes: TaskOutcome[] = [];
    await new TaskWorker({ tasks, agents, onOutcome: (outcome) => void outcomes.push(outcome) }).run();
    expect(outcomes).toMatchObject(
      Array.from({ length: 2 }, () => ({ outcome: "failed", error: { code: error.code } })),
    );
    expect(await tasks.get("t")).toMatchObject({ status: "failed", data: { retryCount: 1 } });
  },
);

it("a worker that loses an expired task while it cancels it runs the next task", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const tasks = new TaskManager({ storage });
  await tasks.create({ taskId: "first", taskName: "n", inputRequest: "", priority: 1, expiresAt: new Date(0) });
  await tasks.create({ taskId: "later", taskName: "n", inputRequest: "" });
  tasks.expire = (taskId) => Promise.reject(new OwnershipLostError(taskId, 1));
  const outcomes: TaskOutcome[] = [];
  await worked(tasks, storage, outcomes);
  expect(outcomes).toMatchObject([{ taskId: "later", outcome: "completed" }]);
});

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
