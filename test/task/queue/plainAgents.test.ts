import { LogPersistenceStorageProvider, type RecordLog } from "agent-persistence/storage";
import { TaskManager } from "agent-persistence/task";
import type { AgentContext } from "agent-persistence";
import { expect, describe, it } from "vitest";
import { z } from "zod";
import { delegatingLog } from "../../testing/delegatingLog.ts";
import { asking } from "../../persistence/support/asking.ts";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { eventStorages } from "../../persistence/waiting/events/eventStorages.ts";

const ask = asking(async (input, context: AgentContext) =>
  input === "done"
    ? input
    : context.requestInput({ prompt: "Which?", schema: z.string(), expiresAt: new Date(Date.now() + 20) }),
);

/** Creates agents that are no tasks, and two tasks, and returns the summaries that task lists read. */
async function summariesRead(storage: LogPersistenceStorageProvider, agents: number) {
  let [read, lists] = [0, 0];
  const { log } = storage;
  const changes: Partial<RecordLog> = {
    async *list(options) {
      lists++;
      for await (const summary of log.list(options)) {
        read++;
        yield summary;
      }
    },
  };
  const counted = new LogPersistenceStorageProvider(delegatingLog(log, changes));
  const agent = durableAgent(ask, storage, { sleepInProcessMs: 0 });
  for (let n = 0; n < agents; n++) await agent.run(n % 2 ? "ask" : "done", { agentId: `agent ${n}` });
  const asked = Date.now();
  const tasks = new TaskManager({ storage: counted });
  await tasks.create({ taskName: "x", inputRequest: 1, taskId: "t1" });
  await tasks.create({ taskName: "x", inputRequest: 1, taskId: "low", priority: -1 });
  await tasks.create({ taskName: "x", inputRequest: 1, taskId: "other", queue: "mail" });
  const ids = async (list: AsyncIterable<{ readonly taskId: string }>) => {
    const found: string[] = [];
    for await (const { taskId } of list) found.push(taskId);
    return found;
  };
  const after = async (work: () => Promise<unknown>) => {
    const before = read;
    await work();
    return read - before;
  };
  await expect.poll(() => Date.now()).toBeGreaterThan(asked + 20);
  const listed = await after(async () => expect(await ids(tasks.list({ limit: 5 }))).toEqual(["t1", "low", "other"]));
  const claimed = await after(async () => expect(await ids(tasks.claimable())).toEqual(["t1", "low"]));
  const whole = await after(async () => {
    lists = 0;
    expect(await ids(tasks.list())).toEqual(["t1", "low", "other"]);
  });
  // A list of all files reads all agents before it yields the first one.
  return { listed, claimed, whole: log.capabilities.folder ? `${lists} list` : whole };
}

describe.each(eventStorages)("$name: lists of tasks", ({ open }) => {
  it("read as much with 40 agents that are no tasks as with 10", async () => {
    const [few, many] = [(await open())(), (await open())()];
    expect(await summariesRead(many, 40)).toEqual(await summariesRead(few, 10));
  });
});
