import { AIAgent, InMemoryPersistenceStorageProvider, Persistence } from "agent-persistence";
import { LogPersistenceStorageProvider, type RecordLog } from "agent-persistence/storage";
import { TaskManager, TaskWorker } from "agent-persistence/task";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { delegatingLog } from "../../testing/delegatingLog.ts";
import { type Body, oneNode } from "./oneNode.ts";

/** A queue in memory whose tasks run one at a time. The list calls of its storage are counted. */
function busyQueue({ watches, body }: { readonly watches: boolean; readonly body: Body }) {
  const { log } = new InMemoryPersistenceStorageProvider();
  let lists = 0;
  const list: RecordLog["list"] = (options) => {
    lists++;
    return log.list(options);
  };
  const changes = watches ? { list } : { list, watch: undefined };
  const storage = new LogPersistenceStorageProvider(delegatingLog(log, changes as Partial<RecordLog>));
  const clock = new SimulatedClock();
  const tasks = new TaskManager({ storage, clock });
  const started: string[] = [];
  const agent = new AIAgent({
    promptExecutor: scriptedModel([]),
    llmModel: "none",
    strategy: oneNode((input, context) => {
      started.push(input);
      return body(input, context);
    }),
  }).install(Persistence, { storage });
  const create = (name: string, priority = 0) =>
    tasks.create({ taskId: name, taskName: "echo", inputRequest: name, priority });
  const work = () => new TaskWorker({ tasks, agents: agent }).run();
  return { clock, create, work, started, lists: () => lists };
}

describe("a worker with more tasks than it can run", () => {
  it("takes them from the list that it has read, and reads a list again at the end", async () => {
    const { create, work, started, lists } = busyQueue({ watches: false, body: (input) => input });
    const names = Array.from({ length: 30 }, (_, n) => `t${n + 10}`);
    for (const name of names) await create(name);
    await work();
    expect(started).toEqual(names);
    // Four lists and one of schedules, then four lists at the end.
    expect(lists()).toBeLessThanOrEqual(10);
  });

  it("starts an urgent task next if the storage reports it", async () => {
    const { create, work, started } = busyQueue({
      watches: true,
      body: async (input) => {
        if (input === "a") await create("urgent", 1);
        return input;
      },
    });
    for (const name of ["a", "b", "c"]) await create(name);
    await work();
    expect(started).toEqual(["a", "urgent", "b", "c"]);
  });

  it("reads the list again after a quarter of a second, if the storage reports no tasks", async () => {
    const { clock, create, work, started } = busyQueue({
      watches: false,
      body: async (input) => {
        if (input === "a") await create("urgent", 1);
        if (input === "b") clock.advance(251);
        return input;
      },
    });
    for (const name of ["a", "b", "c"]) await create(name);
    await work();
    expect(started).toEqual(["a", "b", "urgent", "c"]);
  });

  it("reads the list again after a task that did not complete", async () => {
    const { create, work, started } = busyQueue({
      watches: false,
      body: async (input) => {
        if (input === "a") {
          await create("urgent", 1);
          throw new Error("the first task fails");
        }
        return input;
      },
    });
    for (const name of ["a", "b"]) await create(name);
    await work();
    expect(started).toEqual(["a", "urgent", "b"]);
  });
});
