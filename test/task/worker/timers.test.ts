import type { AgentContext } from "agent-persistence";
import { TaskManager, TaskWorker, type TaskOutcome } from "agent-persistence/task";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { queueStorages } from "../queue/queueStorages.ts";
import { oneNode } from "./oneNode.ts";

const hour = 3_600_000;
const day = 24 * hour;

describe.each(queueStorages)("$name: workers", (storage) => {
  async function setup(count: number) {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const tasks = new TaskManager({ storage: opened(), clock });
    for (let at = 1; at <= count; at++)
      await tasks.create({ taskName: "t", taskId: `t${at}`, inputRequest: String(at) });
    const woken: string[] = [];
    const sleeping = oneNode(async (input, context: AgentContext) => {
      await context.sleep(Number(input) * hour);
      woken.push(input);
      return input;
    });
    const outcomes: TaskOutcome[] = [];
    const onOutcome = (outcome: TaskOutcome) => void outcomes.push(outcome);
    const worker = (at = clock) =>
      new TaskWorker({ tasks, agents: durableAgent(sleeping, opened(), { clock: at }), onOutcome }).run();
    const three = () => Promise.all([worker(), worker(), worker()]);
    return { clock, tasks, woken, outcomes, worker, three };
  }

  it("resume each task once, when its timer is due", async () => {
    const { clock, tasks, woken, three } = await setup(5);
    await three();
    expect(await tasks.get("t3")).toMatchObject({
      status: "waiting",
      data: { waitingFor: "timer", timeoutAt: "2026-01-01T03:00:00.000Z" },
    });
    for (let at = 1; at <= 5; at++) {
      clock.advance(hour - 1);
      await three();
      expect(woken).toHaveLength(at - 1);
      clock.advance(1);
      await three();
      expect(woken).toHaveLength(at);
    }
    expect(woken).toEqual(["1", "2", "3", "4", "5"]);
    for await (const { status } of tasks.list()) expect(status).toBe("completed");
  });

  it("resume each task once when the clock jumps by a day", async () => {
    for (const jump of [day, -day]) {
      const { clock, woken, three } = await setup(3);
      await three();
      clock.jump(jump);
      clock.advance(3 * hour);
      await three();
      clock.jump(-jump);
      await three();
      clock.advance(3 * hour);
      await three();
      expect(woken.toSorted()).toEqual(["1", "2", "3"]);
    }
  });

  it("leave a task whose agent has a slow clock", async () => {
    const { clock, outcomes, worker } = await setup(1);
    const behind = new SimulatedClock();
    await worker(behind);
    clock.advance(hour);
    await worker(behind);
    expect(outcomes).toMatchObject([{ outcome: "waiting" }, { outcome: "waiting" }]);
    await worker();
    expect(outcomes.at(-1)).toMatchObject({ outcome: "completed" });
  });
});
