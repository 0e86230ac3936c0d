import { type AIAgent, persistence } from "agent-persistence";
import { exportAgent, importAgent } from "agent-persistence/transfer";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { TaskManager } from "agent-persistence/task";
import { describe, expect, it } from "vitest";
import { readShape } from "../../../src/journal/shape/readShape.ts";
import { ShapedLog } from "../../../src/journal/shape/ShapedLog.ts";
import { asking, unfinishedOf } from "../../persistence/support/asking.ts";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { logStorages } from "../../persistence/support/storages.ts";
import { listShapeOf } from "./listOfTexts.ts";

const threads = listShapeOf("thread");
const sessions = listShapeOf("session");
const strategy = asking(async (input) => input);

async function begin(storage: LogPersistenceStorageProvider, id: string, shape = threads): Promise<void> {
  await using log = await ShapedLog.open(shape, { storage, id });
  await log.store([{ kind: "add", number: 0, name: id, value: log.value("x".repeat(20_000), "a value") }]);
}

async function all<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

type Attempt = readonly [name: string, attempt: (agent: AIAgent<string, string>, id: string) => Promise<unknown>];

/** What is done to an agent by its id. */
function attemptsOn(storage: LogPersistenceStorageProvider): readonly Attempt[] {
  const of = (agent: AIAgent<string, string>, id: string) => persistence(agent).agent(id);
  const tasks = new TaskManager({ storage });
  return [
    ["run", (agent, agentId) => agent.run("in", { agentId })],
    ["resume", (agent, agentId) => agent.resume({ agentId })],
    ["read", (agent, id) => of(agent, id).getCheckpoints()],
    ["read the latest", (agent, id) => of(agent, id).getLatestCheckpoint()],
    ["read messages", (agent, id) => of(agent, id).getMessages()],
    ["read notes", (agent, id) => of(agent, id).getNotes("key")],
    ["note", (agent, id) => of(agent, id).note({ key: "key", value: 1 })],
    ["roll back", (agent, id) => of(agent, id).rollbackToLatestCheckpoint()],
    ["restart", (agent, id) => of(agent, id).restart()],
    ["fork", (agent, id) => of(agent, id).fork("copy")],
    ["take over", (agent, id) => of(agent, id).takeOver()],
    ["cancel", (agent, id) => of(agent, id).cancel()],
    [
      "prune",
      async (agent, agentId) => {
        const { failed } = await persistence(agent).prune({ agentId });
        throw failed[0]?.error;
      },
    ],
    ["delete", (agent, id) => persistence(agent).deleteAgent(id)],
    ["export", (_agent, id) => all(exportAgent(storage, id))],
    ["move", (_agent, id) => all(exportAgent(storage, id, { move: true }))],
    ["create a task", (_agent, taskId) => tasks.create({ taskId, taskName: "task", inputRequest: "in" })],
    ["get a task", (_agent, id) => tasks.get(id)],
    ["start a task", (_agent, id) => tasks.start(id)],
    ["read from the storage", (_agent, id) => storage.getCheckpoints(id)],
    ["read the latest from the storage", (_agent, id) => storage.getLatestCheckpoint(id)],
  ];
}

describe.each(logStorages)("a log of another kind than agent, in the storage $name", ({ open }) => {
  it("is refused by all operations on agents and stays unchanged", async () => {
    const storage = (await open())();
    await begin(storage, "a");
    const stored = await all(storage.log.read("thread:a"));
    const agent = durableAgent(strategy, storage);
    const refusals = new Map<string, unknown>();
    for (const [name, attempt] of attemptsOn(storage))
      refusals.set(name, await attempt(agent, "thread:a").catch((error: unknown) => error));
    const refused = { code: "wrong_shape", logId: "thread:a", found: "thread", expected: "agent" };
    for (const [name, refusal] of refusals) expect([name, refusal]).toMatchObject([name, refused]);
    expect(await all(storage.log.read("thread:a"))).toEqual(stored);
    expect(await storage.log.owner("thread:a")).toBeUndefined();
    const view = await readShape(threads, { log: storage.log, id: "a" });
    expect(await view.read([view.state.items.get(0)?.value])).toEqual(["x".repeat(20_000)]);
  });

  it("does not take over an agent's log of the same name", async () => {
    const storage = (await open())();
    const agent = durableAgent(strategy, storage);
    for (const agentId of ["a", "thread:a"]) await agent.run("in", { agentId });
    const stored = await all(storage.log.read("thread:a"));
    const refused = { code: "wrong_shape", logId: "thread:a", found: "agent", expected: "thread" };
    await expect(ShapedLog.open(threads, { storage, id: "a" })).rejects.toMatchObject(refused);
    await expect(readShape(threads, { log: storage.log, id: "a" })).rejects.toMatchObject(refused);
    expect(await all(storage.log.read("thread:a"))).toEqual(stored);
    await begin(storage, "a", sessions);
    expect((await readShape(sessions, { log: storage.log, id: "a" })).state.names).toEqual(["a"]);
    // Its id is free once the agent is deleted.
    await persistence(agent).deleteAgent("thread:a");
    await begin(storage, "a");
    expect((await readShape(threads, { log: storage.log, id: "a" })).state.names).toEqual(["a"]);
  });

  it("is missing from lists of agents, tasks, requests and runs, and ignored by pruning", async () => {
    const storage = (await open())();
    for (const id of ["a", "b"]) for (const shape of [threads, sessions]) await begin(storage, id, shape);
    const agent = durableAgent(strategy, storage);
    const tasks = new TaskManager({ storage });
    await agent.run("in", { agentId: "agent" });
    await tasks.create({ taskId: "low", taskName: "low", priority: -1, inputRequest: "in" });
    await tasks.create({ taskId: "high", taskName: "high", priority: 1, inputRequest: "in" });
    expect((await all(tasks.list())).map(({ taskId }) => taskId)).toEqual(["high", "low"]);
    expect(await all(tasks.list({ limit: 3 }))).toHaveLength(2);
    expect(await unfinishedOf(agent)).toEqual([]);
    expect(await all(persistence(agent).listRequests())).toEqual([]);
    const report = await persistence(agent).prune({ now: Date.UTC(2100, 0, 1) });
    expect(report).toMatchObject({ failed: [], busy: [] });
    for (const id of ["a", "b"])
      for (const shape of [threads, sessions])
        expect((await readShape(shape, { log: storage.log, id })).state.names).toEqual([id]);
  });

  it("cannot be imported from an archive", async () => {
    const storage = (await open())();
    await begin(storage, "a");
    await durableAgent(strategy, storage).run("in", { agentId: "agent" });
    const archive = Buffer.concat(await all(exportAgent(storage, "agent"))).toString();
    const [header = "", ...lines] = archive.split("\n");
    const own: string[] = [];
    for await (const bytes of storage.log.encodedAppends?.("thread:a") ?? []) own.push(Buffer.from(bytes).toString());
    const forged = Buffer.from([header, ...own, ...lines.slice(1)].join("\n"));
    const target = (await open())();
    const stream = async function* () {
      yield forged;
    };
    await expect(importAgent(target, stream())).rejects.toMatchObject({ code: "invalid_archive" });
    expect(await all(target.log.list())).toEqual([]);
  });
});
