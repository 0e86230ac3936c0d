import { rm } from "node:fs/promises";
import { join } from "node:path";
import { persistence, strategy, type AgentContext } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { TaskManager, type Task } from "agent-persistence/task";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent, Fault, Stopped } from "../../persistence/support/durableAgent.ts";
import { recordsOf } from "../../persistence/support/stored.ts";
import { logStorages } from "../../persistence/support/storages.ts";
import { agentPath, testDirectory } from "../../storage/file/support/fixture.ts";

const rounds = 150;
const inputRequest = "in".padEnd(20_000, ".");

/** Works for so long that its log is snapshotted, then asks; fails where the fault strikes. */
const long = (fault: Fault) =>
  strategy<string, string>("long", (g) => {
    const turn = g.node("turn", (left: number, context: AgentContext) => {
      if (left === 10) fault.strike();
      context.llm.rewrite(() => []);
      context.llm.append({ role: "user", content: `${left} ${"x".repeat(9_000)}` });
      return left - 1;
    });
    const ask = g.node("ask", (_left: number, context: AgentContext) =>
      context.requestInput({ prompt: "which?", schema: z.string(), waitingFor: "external_api" }),
    );
    g.edge(g.start, turn, { map: () => rounds });
    g.edge(turn, turn, { when: (left) => left > 0 });
    g.edge(turn, ask, { when: (left) => left === 0 });
    g.edge(ask, g.finish);
  });

async function listed(tasks: TaskManager): Promise<readonly Task[]> {
  const found: Task[] = [];
  for await (const task of tasks.list()) found.push(task);
  return found;
}

describe.each(logStorages)("$name: a task whose log is rewritten", (storage) => {
  async function failed() {
    const opened = await storage.open();
    const tasks = () => new TaskManager({ storage: opened() });
    await tasks().create({ taskId: "low", taskName: "n", inputRequest: "in" });
    await tasks().create({ taskId: "t", taskName: "long", inputRequest, priority: 7 });
    const fault = new Fault();
    const agent = () => durableAgent(long(fault), opened(), { maxIterations: 1_000 });
    await expect(agent().resume({ agentId: "t" })).rejects.toBeInstanceOf(Stopped);
    fault.repair();
    return { opened, tasks, agent };
  }

  it("by a snapshot keeps its name, priority, retries and requests", async () => {
    const { opened, tasks, agent } = await failed();
    await tasks().retry("t");
    expect(await agent().resume({ agentId: "t" })).toMatchObject({ status: "waiting" });
    const kinds = (await recordsOf(opened(), "t")).map(({ kind }) => kind);
    expect(kinds.indexOf("snapshot")).toBeGreaterThan(kinds.indexOf("task"));
    const waiting = { waitingFor: "external_api", promptShownToUser: "which?" };
    expect(await tasks().get("t")).toMatchObject({ taskName: "long", status: "waiting", data: waiting });
    expect((await listed(tasks())).map(({ taskId }) => taskId)).toEqual(["t", "low"]);
    const [request] = await persistence(agent()).agent("t").getRequests();
    await tasks().resume("t");
    await tasks().fail("t", "again");
    expect(await tasks().get("t")).toMatchObject({ status: "failed", data: { retryCount: 1 } });
    await tasks().retry("t");
    const answers = { [request?.requestId ?? ""]: "this" };
    expect(await agent().resume({ agentId: "t" })).toMatchObject({ status: "waiting" });
    expect(await agent().resume({ agentId: "t", answers })).toMatchObject({ status: "completed", output: "this" });
  });

  it("by pruning keeps its name, priority, retries and requests", async () => {
    const { tasks, agent } = await failed();
    const before = await tasks().get("t");
    const { pruned } = await persistence(agent()).prune();
    expect(pruned).toMatchObject([{ agentId: "t", dropped: false }]);
    expect(await tasks().get("t")).toEqual(before);
    expect((await listed(tasks())).map(({ taskId, taskName }) => `${taskName} ${taskId}`)).toEqual(["long t", "n low"]);
    await tasks().retry("t");
    expect(await tasks().get("t")).toMatchObject({ status: "queued", data: { priority: 7, inputRequest } });
    expect(await agent().resume({ agentId: "t" })).toMatchObject({ status: "waiting" });
    await persistence(agent()).prune();
    expect(await tasks().get("t")).toMatchObject({ status: "waiting", data: { waitingFor: "external_api" } });
    const [request] = await persistence(agent()).agent("t").getRequests();
    expect(request).toMatchObject({ prompt: "which?" });
    await agent().resume({ agentId: "t", answers: { [request?.requestId ?? ""]: "this" } });
    await persistence(agent()).prune({ policy: { maxCheckpoints: 2 } });
    expect((await listed(tasks()))[0]).toMatchObject({ status: "completed", priority: 7, inputRequest });
  });
});

it("a task whose log was rewritten is read from it alone if state.json is lost", async () => {
  const directory = await testDirectory();
  const storage = () => new FilePersistenceStorageProvider({ directory });
  const tasks = () => new TaskManager({ storage: storage() });
  await tasks().create({ taskId: "t", taskName: "long", inputRequest: "in", priority: 7 });
  const fault = new Fault();
  fault.repair();
  const agent = durableAgent(long(fault), storage(), { maxIterations: 1_000 });
  await agent.resume({ agentId: "t" });
  const before = await listed(tasks());
  const summaries = async () => {
    for await (const summary of storage().log.list()) return { order: summary.order, requestIds: summary.requestIds };
    return undefined;
  };
  const told = await summaries();
  expect(told?.requestIds).toHaveLength(1);
  await rm(join(agentPath(directory, "t"), "state.json"));
  expect(await listed(tasks())).toEqual(before);
  expect(await summaries()).toEqual(told);
});
