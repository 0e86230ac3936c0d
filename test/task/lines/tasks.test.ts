import { persistence } from "agent-persistence";
import { TaskManager, TaskWorker, type TaskOutcome } from "agent-persistence/task";
import { crashAfter, SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate } from "../../agent/gate.ts";
import type { NodeBody } from "../../persistence/support/calledAgents.ts";
import { Fault } from "../../persistence/support/durableAgent.ts";
import { bothEnded, type BuildAgent, everyLine } from "../../persistence/support/lineKinds.ts";
import { logStorages } from "../../persistence/support/storages.ts";
import { World } from "../../persistence/support/World.ts";

const asks: NodeBody = (role, context) => context.requestInput({ prompt: `${role}?`, schema: z.string() });

describe.each(everyLine(logStorages))("tasks with open branches, %s", (_name, storage, kind) => {
  async function queued() {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const tasks = new TaskManager({ storage: opened(), clock });
    await tasks.create({ taskId: "a", taskName: "n", inputRequest: "go" });
    const world = new World();
    const outcomes: TaskOutcome[] = [];
    const worker = (build: BuildAgent) =>
      new TaskWorker({ tasks, agents: build(opened()), onOutcome: (outcome) => void outcomes.push(outcome) });
    const last = () => outcomes.at(-1);
    const task = () => tasks.get("a");
    return { opened, tasks, world, worker, last, task };
  }

  /** The node that stopped has run again, and no other. */
  const once = ["beside acts", "beside begins", "line acts", "line acts", "line begins"];

  it("that failed in one branch continue there after a retry", async () => {
    const { tasks, world, worker, last, task } = await queued();
    const fault = new Fault();
    const build = kind.build(world, { line: (role) => (fault.strike(), role) });
    await worker(build).run();
    expect(last()).toMatchObject({ outcome: "failed" });
    expect(await task()).toMatchObject({ status: "failed", data: { recoverable: true, retryCount: 0 } });
    fault.repair();
    await worker(build).run();
    expect(await task()).toMatchObject({ status: "failed" });
    await tasks.retry("a");
    await worker(build).run();
    expect(last()).toMatchObject({ outcome: "completed", output: bothEnded });
    expect(await task()).toMatchObject({ status: "completed", data: { finalOutput: bothEnded } });
    expect(world.nodes.toSorted()).toEqual(once);
  });

  it("whose process ended are recovered by the next worker", async () => {
    const { opened, tasks, world, worker, last, task } = await queued();
    for (let saves = 2; saves < 60; saves++) {
      const agent = kind.build(world, { line: (role) => role })(crashAfter(opened(), saves));
      await agent.resume({ agentId: "a" }).catch(() => undefined);
      if ((await task())?.status === "completed") break;
      if ((await task())?.status === "in_progress") expect(await tasks.isResumable("a")).toBe(true);
    }
    expect(last()).toBeUndefined();
    await worker(kind.build(world, { line: (role) => role })).run();
    expect(await task()).toMatchObject({ status: "completed", data: { finalOutput: bothEnded } });
  });

  it("that wait continue after the first answer and wait again for the second", async () => {
    const { opened, world, worker, last, task } = await queued();
    const build = kind.build(world, { line: asks, beside: asks });
    await worker(build).run();
    expect(last()).toMatchObject({ outcome: "waiting" });
    expect(await task()).toMatchObject({ status: "waiting", data: { waitingFor: "user_input" } });
    const outside = persistence(build(opened()));
    const requests = await outside.agent("a").getRequests();
    expect(requests.map(({ prompt }) => prompt).toSorted()).toEqual(["beside?", "line?"]);
    const line = requests.find(({ prompt }) => prompt === "line?");
    expect(line).toMatchObject({ agentPath: kind.agentPath, ...(kind.branch && { branch: kind.branch }) });
    await outside.answer(line?.requestId ?? "", "l");
    await worker(build).run();
    expect(last()).toMatchObject({ outcome: "waiting", recovered: true });
    expect(world.nodes.filter((node) => node === "line acts")).toHaveLength(2);
    expect(await task()).toMatchObject({ status: "waiting", data: { promptShownToUser: "beside?" } });
    await outside.answer(requests.find((each) => each !== line)?.requestId ?? "", "b");
    await worker(build).run();
    expect(last()).toMatchObject({ outcome: "completed", output: "l, b" });
    expect(await outside.agent("a").getRequests()).toEqual([]);
  });

  it("that wait can be cancelled, and then accept no answer", async () => {
    const { opened, tasks, world, worker, task } = await queued();
    const build = kind.build(world, { line: asks });
    await worker(build).run();
    const outside = persistence(build(opened()));
    const [request] = await outside.agent("a").getRequests();
    await tasks.cancel("a", "not needed");
    expect(await task()).toMatchObject({ status: "cancelled", data: { reason: "not needed" } });
    expect(await outside.agent("a").getRequests()).toEqual([]);
    const late = outside.agent("a").answer(request?.requestId ?? "", "late");
    await expect(late).rejects.toMatchObject({ code: "request_not_found" });
    const before = world.nodes.length;
    await worker(build).run();
    expect(world.nodes).toHaveLength(before);
  });
});

// A worker that is in another place hears of a stop only when it renews its lease.
describe.each(everyLine(logStorages.slice(0, 1)))("a running task with open branches, %s", (_name, storage, kind) => {
  async function running() {
    const opened = await storage.open();
    const tasks = new TaskManager({ storage: opened() });
    await tasks.create({ taskId: "a", taskName: "n", inputRequest: "go" });
    const [world, begun] = [new World(), gate()];
    let held = true;
    const line: NodeBody = (role, { signal }) => {
      if (!held) return role;
      begun.open();
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    };
    const agents = kind.build(world, { line })(opened());
    const outcomes: TaskOutcome[] = [];
    const work = () => new TaskWorker({ tasks, agents, onOutcome: (each) => void outcomes.push(each) }).run();
    const ends = work();
    await begun.opened;
    return { tasks, world, agents, outcomes, work, ends, release: () => (held = false) };
  }

  it("is paused and continues from the same state", async () => {
    const { tasks, world, outcomes, work, ends, release } = await running();
    await tasks.pause("a", "lunch");
    await ends;
    expect(outcomes).toMatchObject([{ outcome: "interrupted", error: { code: "stop_requested" } }]);
    expect(await tasks.get("a")).toMatchObject({ status: "paused", data: { pauseReason: "lunch" } });
    release();
    await work();
    expect(await tasks.get("a")).toMatchObject({ status: "paused" });
    await tasks.resume("a");
    await work();
    expect(outcomes.at(-1)).toMatchObject({ outcome: "completed", output: bothEnded });
    expect(world.nodes.filter((node) => node.endsWith("begins")).toSorted()).toEqual(["beside begins", "line begins"]);
  });

  it("is cancelled and runs no further step", async () => {
    const { tasks, world, agents, work, ends, release } = await running();
    await tasks.cancel("a", "not needed");
    await ends;
    release();
    const before = world.nodes.length;
    await work();
    await agents.resume({ agentId: "a" }).catch(() => undefined);
    expect(world.nodes).toHaveLength(before);
    expect(await tasks.get("a")).toMatchObject({ status: "cancelled", data: { reason: "not needed" } });
    const latest = await persistence(agents).agent("a").getLatestCheckpoint();
    expect(latest).toMatchObject({ status: "cancelled" });
  });
});
