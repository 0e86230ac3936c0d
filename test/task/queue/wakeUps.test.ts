import { type AgentContext, InMemoryPersistenceStorageProvider, persistence } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { TaskManager, TaskWorker } from "agent-persistence/task";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { OwnershipLostError, StorageError } from "../../../src/errors/storageErrors.ts";
import { Inbox } from "../../../src/journal/inbox/Inbox.ts";
import { processOwner } from "../../../src/storage/ReleasableLog.ts";
import { systemClock } from "../../../src/internal/Clock.ts";
import { asking } from "../../persistence/support/asking.ts";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { delegatingLog } from "../../testing/delegatingLog.ts";
import { testDirectory } from "../../storage/file/support/fixture.ts";

const receiver = asking(async (_input, context: AgentContext) => context.receive("paid", { schema: z.string() }));
const agentOn = (storage: LogPersistenceStorageProvider) =>
  durableAgent(receiver, storage, { sleepInProcessMs: 0, clock: systemClock });

async function statusAfterWork(storage: LogPersistenceStorageProvider): Promise<unknown> {
  const tasks = new TaskManager({ storage });
  await new TaskWorker({ tasks, agents: { t: agentOn(storage) } }).run();
  return (await tasks.get("a"))?.status;
}

async function claimableOn(storage: LogPersistenceStorageProvider): Promise<readonly string[]> {
  const listed: string[] = [];
  for await (const { taskId } of new TaskManager({ storage }).claimable()) listed.push(taskId);
  return listed;
}

async function newsOf(storage: LogPersistenceStorageProvider): Promise<readonly string[]> {
  const listed: string[] = [];
  for await (const agentId of Inbox.of(storage).news()) listed.push(agentId);
  return listed;
}

const storages: readonly (readonly [string, () => Promise<LogPersistenceStorageProvider>])[] = [
  ["in memory", async () => new InMemoryPersistenceStorageProvider()],
  ["on files", async () => new FilePersistenceStorageProvider({ directory: await testDirectory() })],
];

describe.each(storages)("a task that waits for an event, %s", (_name, open) => {
  it("is continued by the next worker after an outage between the receipt and its reply", async () => {
    const plain = await open();
    let fault: "armed" | "down" | "over" = "over";
    const failing = new LogPersistenceStorageProvider(
      delegatingLog(plain.log, {}, (owned, agentId) => ({
        append: async (entry, position) => {
          if (fault === "down" && agentId === "a") {
            fault = "over";
            throw new StorageError("unavailable", "append", agentId, { cause: new Error("outage") });
          }
          const appended = await owned.append(entry, position);
          if (fault === "armed" && entry.records.some(({ kind }) => kind === "take")) fault = "down";
          return appended;
        },
      })),
    );
    await new TaskManager({ storage: plain }).create({ taskName: "t", inputRequest: "go", taskId: "a" });
    expect(await statusAfterWork(plain)).toBe("waiting");
    await persistence(agentOn(plain)).agent("a").send("paid", "5");
    fault = "armed";
    await statusAfterWork(failing).catch(() => undefined);
    expect(fault).toBe("over");
    expect((await new TaskManager({ storage: plain }).get("a"))?.status).toBe("waiting");
    expect(await claimableOn(plain)).toEqual(["a"]);
    expect(await statusAfterWork(plain)).toBe("completed");
    // The last check found the reply, so workers no longer look into the inbox.
    expect(await claimableOn(plain)).toEqual([]);
    expect(await newsOf(plain)).toEqual([]);
  });

  it("is listed if its event arrives while a worker looks for it", async () => {
    const plain = await open();
    const agent = agentOn(plain);
    await new TaskManager({ storage: plain }).create({ taskName: "t", inputRequest: "go", taskId: "a" });
    await persistence(agent).agent("a").send("other", "no");
    let isFirst = true;
    const slow = new LogPersistenceStorageProvider(
      delegatingLog(plain.log, {
        async *read(agentId, options) {
          yield* plain.log.read(agentId, options);
          if (agentId !== "a" || !isFirst) return;
          isFirst = false;
          // Another process runs the agent, which waits, and then gets the event.
          expect(await agent.resume({ agentId: "a" })).toMatchObject({ status: "waiting" });
          await persistence(agent).agent("a").send("paid", "5");
        },
      }),
    );
    await claimableOn(slow);
    expect(isFirst).toBe(false);
    expect(await statusAfterWork(plain)).toBe("completed");
  });
});

it("a worker lists the other tasks while a sender owns an inbox or takes it over", async () => {
  const plain = new InMemoryPersistenceStorageProvider();
  const tasks = new TaskManager({ storage: plain });
  for (const taskId of ["a", "b"]) {
    await tasks.create({ taskName: "t", inputRequest: "go", taskId });
    await agentOn(plain).resume({ agentId: taskId });
    await persistence(agentOn(plain))
      .agent(taskId)
      .send(taskId === "a" ? "other" : "paid", "5");
  }
  const overtaken = new LogPersistenceStorageProvider(
    delegatingLog(plain.log, {}, (_owned, agentId) => ({
      append: () => Promise.reject(new OwnershipLostError(agentId, 1)),
    })),
  );
  expect(await claimableOn(overtaken)).toEqual(["b"]);
  const sender = await plain.log.open("inbox:a", processOwner());
  expect(await claimableOn(plain)).toEqual(["b"]);
  expect((await newsOf(plain)).toSorted()).toEqual(["a", "b"]);
  await sender.release();
  expect(await claimableOn(plain)).toEqual(["b"]);
  expect(await newsOf(plain)).toEqual(["b"]);
});

it("a worker lists the other tasks if an inbox is damaged", async () => {
  const plain = new InMemoryPersistenceStorageProvider();
  const tasks = new TaskManager({ storage: plain });
  for (const taskId of ["a", "b"]) {
    await tasks.create({ taskName: "t", inputRequest: "go", taskId });
    await agentOn(plain).resume({ agentId: taskId });
    await persistence(agentOn(plain)).agent(taskId).send("paid", "5");
  }
  // The receipt of an event that does not exist.
  const receipt = { kind: "take", request: "r", event: 9 };
  const damaged = new LogPersistenceStorageProvider(
    delegatingLog(plain.log, {
      async *read(agentId, options) {
        for await (const entry of plain.log.read(agentId, options)) {
          const records = entry.records.map((record) => (record.kind === "event" ? receipt : record));
          yield agentId === "inbox:a" ? { ...entry, records } : entry;
        }
      },
    }),
  );
  expect(await claimableOn(damaged)).toEqual(["b"]);
});
