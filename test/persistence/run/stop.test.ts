import { InMemoryPersistenceStorageProvider, persistence, type AgentContext } from "agent-persistence";
import { TaskManager, TaskWorker } from "agent-persistence/task";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { asking, summaryOf, unfinishedOf } from "../support/asking.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages, storages } from "../support/storages.ts";
import { systemClock } from "../../../src/internal/Clock.ts";

/** An agent whose first visit lasts until its run is stopped. */
function endless() {
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  let visits = 0;
  const graph = asking((input, context: AgentContext) => {
    if (++visits > 1) return Promise.resolve(`${input} on`);
    begin();
    return new Promise((_resolve, reject) =>
      context.signal.addEventListener("abort", () => reject(context.signal.reason)),
    );
  });
  return { graph, begun };
}

describe.each(storages)("$name: stop", (storage) => {
  it("ends a run with its reason, and a resume continues it", async () => {
    const { graph, begun } = endless();
    const opened = await storage.open();
    const agent = durableAgent(graph, opened(), { clock: systemClock });
    const ended = agent.run("go").catch((error: unknown) => error);
    await begun;
    await persistence(agent).agent().stop({ reason: "the user pressed stop" });
    expect(await ended).toMatchObject({ code: "stop_requested", reason: "the user pressed stop" });
    expect(await agent.resume()).toMatchObject({ output: "go on" });
  });

  it("does nothing for an agent that never ran, and for a finished run", async () => {
    const agent = durableAgent(
      asking(async (input) => input),
      (await storage.open())(),
    );
    const durable = persistence(agent).agent();
    expect(await durable.stop({ reason: "no" })).toEqual({ stopped: false, status: undefined });
    await agent.run("go");
    expect(await durable.stop({ reason: "no" })).toMatchObject({ stopped: false });
    expect(await agent.run("go", { runId: "r-2" })).toMatchObject({ output: "go" });
  });
});

describe.each(logStorages)("$name: stop", (storage) => {
  it("shows its reason in the status, and stops once if called several times", async () => {
    const { graph, begun } = endless();
    const provider = (await storage.open())();
    const agent = durableAgent(graph, provider, { clock: systemClock });
    const ended = agent.run("go").catch(() => undefined);
    await begun;
    const durable = persistence(agent).agent();
    const stops = await Promise.all([durable.stop({ reason: "one" }), durable.stop({ reason: "two" })]);
    await ended;
    expect(stops.filter(({ stopped }) => stopped)).toHaveLength(1);
    expect(stops.map(({ status }) => status)).toEqual(["paused", "paused"]);
    const [reason] = stops.flatMap(({ stopped }, at) => (stopped ? [["one", "two"][at]] : []));
    expect(await summaryOf(provider)).toMatchObject({ status: "paused", data: { pauseReason: reason } });
    expect(await unfinishedOf(agent)).toEqual(["paused"]);
  });

  it("leaves a waiting run, whose request can be answered", async () => {
    const agent = durableAgent(
      asking((input, context) => context.requestInput({ prompt: input, schema: z.string() })),
      (await storage.open())(),
    );
    await agent.run("?");
    const durable = persistence(agent).agent();
    expect(await durable.stop({ reason: "no" })).toEqual({ stopped: false, status: "waiting" });
    const [request] = await durable.getRequests();
    expect(await agent.resume({ answers: { [request!.requestId]: "yes" } })).toMatchObject({ output: "yes" });
  });
});

describe("stop of a task", () => {
  it("keeps workers from continuing it until it is resumed", async () => {
    const { graph, begun } = endless();
    const storage = new InMemoryPersistenceStorageProvider();
    const tasks = new TaskManager({ storage });
    const agent = durableAgent(graph, storage, { clock: systemClock });
    const { taskId } = await tasks.create({ taskName: "t", inputRequest: "go" });
    const outcomes: unknown[] = [];
    const worker = new TaskWorker({ tasks, agents: { t: agent }, onOutcome: (outcome) => void outcomes.push(outcome) });
    const first = worker.run();
    await begun;
    await persistence(agent).agent(taskId).stop({ reason: "wrong input" });
    await first;
    expect(outcomes).toMatchObject([{ taskId, outcome: "interrupted", error: { reason: "wrong input" } }]);
    await worker.run();
    expect(outcomes).toHaveLength(1);
    expect(await tasks.get(taskId)).toMatchObject({ status: "paused", data: { pauseReason: "wrong input" } });
    await tasks.resume(taskId);
    await worker.run();
    expect(outcomes[1]).toMatchObject({ taskId, outcome: "completed", output: "go on" });
  });
});
