import { type AgentContext, InMemoryPersistenceStorageProvider, persistence, strategy } from "agent-persistence";
import { AgentBusyError, StorageError } from "agent-persistence/errors";
import { SimulatedClock } from "agent-persistence/testing";
import { getEventListeners } from "node:events";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { Inbox } from "../../../../src/journal/inbox/Inbox.ts";
import { gate } from "../../../agent/gate.ts";
import { durableAgent } from "../../support/durableAgent.ts";

const schema = z.string();

/** A branch that receives an event while another branch works, and a node that looks for an event after both. */
function receivingBranch(timeoutMs: number | undefined, work: Promise<void>) {
  return strategy<string, string>("receiving", (g) => {
    const receive = g.node("receive", async (_input: string, context: AgentContext) => {
      const asked = timeoutMs === undefined ? { schema } : { schema, timeoutMs };
      return (await context.receive("paid", asked).catch(() => "rejected")) ?? "nothing";
    });
    const other = g.node("other", async () => {
      await work;
      return "";
    });
    const both = g.parallel("both", { receive, other }, ({ receive: received }) => received);
    const again = g.node("again", async (first: string, context: AgentContext) => {
      const second = await context.receive("paid", { schema, timeoutMs: 0 });
      return `${first}, then ${second ?? "nothing"}`;
    });
    g.edge(g.start, both);
    g.edge(both, again);
    g.edge(again, g.finish);
  });
}

/** Holds back the response of the storage to each receipt of an event. */
function slowReceipts(inbox: Inbox) {
  const [stored, answer] = [gate(), gate()];
  vi.spyOn(inbox, "take").mockImplementation(async (...asked) => {
    const taken = await Inbox.prototype.take.apply(inbox, asked);
    if (taken) stored.open();
    if (taken) await answer.opened;
    return taken;
  });
  return { stored, answer };
}

async function waitingBranch(timeoutMs?: number) {
  const work = gate();
  const clock = new SimulatedClock();
  const storage = new InMemoryPersistenceStorageProvider();
  const agent = durableAgent(receivingBranch(timeoutMs, work.opened), storage, { clock, sleepInProcessMs: 0 });
  const inbox = Inbox.of(storage);
  const take = vi.spyOn(inbox, "take");
  const running = agent.run("go", { agentId: "a" });
  const durable = persistence(agent).agent("a");
  await expect.poll(async () => (await durable.getRequests()).length).toBe(1);
  // The node looks for the event once before it waits.
  await expect.poll(() => take.mock.calls.length).toBeGreaterThan(1);
  const [request] = await durable.getRequests();
  const untilAnswered = async () => {
    await expect.poll(async () => (await durable.getRequests()).length).toBe(0);
  };
  const requestId = request?.requestId ?? "";
  return { inbox, running, durable, clock, work, requestId, untilAnswered };
}

describe("an event whose receipt is under way in a branch", () => {
  it("is received when the request expires meanwhile", async () => {
    const { inbox, running, durable, clock, work, untilAnswered } = await waitingBranch(1_000);
    const { stored, answer } = slowReceipts(inbox);
    await durable.send("paid", "one");
    await stored.opened;
    clock.advance(1_000);
    answer.open();
    await untilAnswered();
    work.open();
    expect(await running).toMatchObject({ output: "one, then nothing" });
  });

  it("is received when a person rejects the request meanwhile", async () => {
    const { inbox, running, durable, work, requestId } = await waitingBranch();
    const { stored, answer } = slowReceipts(inbox);
    await durable.send("paid", "one");
    await stored.opened;
    const rejected = durable.reject(requestId, "not needed");
    answer.open();
    await expect(rejected).rejects.toMatchObject({ code: "request_answered" });
    work.open();
    expect(await running).toMatchObject({ output: "one, then nothing" });
  });
});

describe("a branch that waits for an event", () => {
  it("ends its wait when a person rejects the request", async () => {
    const { running, durable, work, requestId } = await waitingBranch();
    await durable.reject(requestId, "not needed");
    await durable.send("paid", "one");
    work.open();
    expect(await running).toMatchObject({ output: "rejected, then one" });
  });

  it.each([
    new StorageError("unavailable", "read", "a"),
    new AgentBusyError("a", { host: "other", processId: 1, nonce: "n", generation: 1 }, 1),
  ])("receives the event after the storage failed once: $code", async (failure) => {
    const { inbox, running, durable, clock, work, untilAnswered } = await waitingBranch();
    const take = vi.spyOn(inbox, "take").mockRejectedValueOnce(failure);
    const { length } = take.mock.calls;
    await durable.send("paid", "one");
    await expect.poll(() => take.mock.calls.length).toBeGreaterThan(length);
    await expect
      .poll(async () => {
        clock.advance(2_500);
        return (await durable.getRequests()).length;
      })
      .toBe(0);
    await untilAnswered();
    work.open();
    expect(await running).toMatchObject({ output: "one, then nothing" });
  });

  it("listens for its end only once, even if many other events arrive", async () => {
    const listening = vi.spyOn(AbortSignal.prototype, "addEventListener");
    onTestFinished(() => listening.mockRestore());
    const { inbox, running, durable, work, untilAnswered } = await waitingBranch();
    const take = vi.spyOn(inbox, "take");
    for (let number = 0; number < 20; number++) {
      const { length } = take.mock.calls;
      await durable.send("other", number);
      await expect.poll(() => take.mock.calls.length).toBeGreaterThan(length);
    }
    const listeners = listening.mock.contexts.map((signal) => getEventListeners(signal as AbortSignal, "abort").length);
    expect(Math.max(...listeners)).toBeLessThan(10);
    await durable.send("paid", "one");
    await untilAnswered();
    work.open();
    expect(await running).toMatchObject({ output: "one, then nothing" });
  });
});

describe("an event for a branch that a rollback of another branch closed", () => {
  it("is received when the branch starts again", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const [isAsked, isRestarted, isSent] = [gate(), gate(), gate()];
    const attempts = { receive: 0, other: 0 };
    const built = strategy<string, string>("receiving", (g) => {
      const receive = g.node("receive", async (_input: string, context: AgentContext) => {
        if (attempts.receive++ > 0) {
          isRestarted.open();
          await isSent.opened;
        }
        return context.receive("paid", { schema });
      });
      const other = g.node("other", async (input: string, context: AgentContext) => {
        if (attempts.other++ > 0) return input;
        await isAsked.opened;
        const [first] = await persistence(context).getCheckpoints();
        return (await persistence(context).rollbackToCheckpoint(first?.checkpointId ?? "")) as never;
      });
      const both = g.parallel("both", { receive, other }, ({ receive: received }) => received);
      g.edge(g.start, both);
      g.edge(both, g.finish);
    });
    const agent = durableAgent(built, storage, { sleepInProcessMs: 0 });
    const running = agent.run("go", { agentId: "a" });
    const durable = persistence(agent).agent("a");
    await expect.poll(async () => (await durable.getRequests()).length).toBe(1);
    isAsked.open();
    await isRestarted.opened;
    const take = vi.spyOn(Inbox.of(storage), "take");
    await durable.send("paid", "one");
    // The request of the closed branch would look for the event in this turn.
    await new Promise(setImmediate);
    await Promise.allSettled(take.mock.results.map(({ value }) => value));
    isSent.open();
    const { status } = await running;
    expect(status === "waiting" ? await agent.resume() : await running).toMatchObject({ output: "one" });
  });
});
