import { type AgentContext, persistence, strategy, tool } from "agent-persistence";
import { TaskManager, TaskWorker } from "agent-persistence/task";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../../src/internal/Clock.ts";
import { processOwner } from "../../../../src/storage/ReleasableLog.ts";
import { soonerClock } from "../../../internal/soonerClock.ts";
import { asking, requestsOf, summaryOf } from "../../support/asking.ts";
import { durableAgent } from "../../support/durableAgent.ts";
import { eventStorages } from "./eventStorages.ts";

const schema = z.string();
const quick = { sleepInProcessMs: 0 };

/** Receives some events of a name, and returns their payloads. */
function receiver(count: number, name = "paid") {
  return asking(async (_input, context: AgentContext) => {
    const received: string[] = [];
    for (let number = 0; number < count; number++) received.push(await context.receive(name, { schema }));
    return received.join(" ");
  });
}

describe.each(eventStorages)("$name: an event", (storage) => {
  it("may arrive before the agent starts, and is received in the order of its sends", async () => {
    const opened = await storage.open();
    const agent = durableAgent(receiver(2), opened(), quick);
    const sender = persistence(durableAgent(receiver(0), opened())).agent("a");
    await sender.send("paid", "one");
    await sender.send("other", "no");
    await sender.send("paid", "two");
    expect(await agent.run("go", { agentId: "a" })).toMatchObject({ status: "completed", output: "one two" });
  });

  it("leaves its inbox free when the send resolves, because the process may be frozen then", async () => {
    const provider = (await storage.open())();
    const durable = persistence(durableAgent(receiver(0), provider)).agent("a");
    await Promise.all(["one", "two", "three"].map((payload) => durable.send("paid", payload)));
    expect(await provider.log.owner("inbox:a")).toBe(undefined);
  });

  it("continues a waiting agent at a resume, which receives it once", async () => {
    const opened = await storage.open();
    const agent = durableAgent(receiver(2), opened(), quick);
    const waiting = await agent.run("go", { agentId: "a" });
    expect(requestsOf(waiting)).toMatchObject([{ kind: "event", waitingFor: "event", eventName: "paid" }]);
    expect(await agent.resume({ agentId: "a" })).toMatchObject({ status: "waiting" });
    const other = durableAgent(receiver(2), opened(), quick);
    await persistence(other).agent("a").send("paid", "one");
    expect(await other.resume({ agentId: "a" })).toMatchObject({ status: "waiting" });
    await persistence(other).agent("a").send("paid", "two");
    expect(await other.resume({ agentId: "a" })).toMatchObject({ status: "completed", output: "one two" });
  });

  it.each([
    ["is received by the next resume", false],
    ["is received by a new run after a cancel", true],
  ])("does not delay the abort of a resume while its inbox has another owner, and %s", async (_next, isCancelled) => {
    const provider = (await storage.open())();
    const agent = durableAgent(receiver(1), provider, quick);
    await agent.run("go", { agentId: "a" });
    await persistence(agent).agent("a").send("paid", "one");
    const owner = await provider.log.open("inbox:a", processOwner());
    const opens = vi.spyOn(provider.log, "open");
    const leaving = new AbortController();
    const resumed = agent.resume({ agentId: "a", signal: leaving.signal });
    resumed.catch(() => undefined);
    const ends = () => opens.mock.settledResults.filter((_end, at) => opens.mock.calls[at]?.[0] === "inbox:a");
    await expect.poll(() => ends().at(-1)?.type, { timeout: 60_000 }).toBe("rejected");
    leaving.abort(new Error("gone"));
    await expect(resumed).rejects.toThrow("gone");
    if (isCancelled) await persistence(agent).agent("a").cancel();
    await owner.release();
    await expect.poll(() => ends().at(-1)?.type, { timeout: 60_000 }).toBe("fulfilled");
    await expect.poll(() => provider.log.owner("inbox:a")).toBe(undefined);
    const next = isCancelled ? agent.run("go", { agentId: "a" }) : agent.resume({ agentId: "a" });
    expect(await next).toMatchObject({ status: "completed", output: "one" });
  });

  it("reaches a running agent while another process runs it", async () => {
    const opened = await storage.open();
    const agent = durableAgent(receiver(1), opened(), { clock: soonerClock, sleepInProcessMs: 60_000_000 });
    const running = agent.run("go", { agentId: "a" });
    const outside = persistence(durableAgent(receiver(1), opened())).agent("a");
    await expect.poll(async () => (await outside.getRequests()).length).toBe(1);
    await outside.send("paid", "one");
    expect(await running).toMatchObject({ status: "completed", output: "one" });
  });

  it("with a key is stored once, and another event with the key is refused", async () => {
    const opened = await storage.open();
    const agent = durableAgent(receiver(2), opened(), quick);
    const outside = persistence(durableAgent(receiver(2), opened())).agent("a");
    await persistence(agent)
      .agent("a")
      .send("paid", { z: 1, a: [2] }, { key: "k" });
    await outside.send("paid", { a: [2], z: 1 }, { key: "k" });
    await expect(outside.send("paid", "else", { key: "k" })).rejects.toMatchObject({
      code: "event_key_used",
      key: "k",
    });
    await expect(outside.send("other", { z: 1, a: [2] }, { key: "k" })).rejects.toMatchObject({ eventName: "paid" });
    const counting = asking(async (_input, context) => {
      const first = await context.receive("paid", { schema: z.unknown() });
      const second = await context.receive("paid", { schema: z.unknown(), timeoutMs: 0 });
      return JSON.stringify([first, second ?? "none"]);
    });
    expect(await durableAgent(counting, opened(), quick).run("go", { agentId: "a" })).toMatchObject({
      output: '[{"z":1,"a":[2]},"none"]',
    });
  });

  it("is received again after a rollback over its receipt, and only then", async () => {
    const opened = await storage.open();
    const graph = asking(async (_input, context) => {
      const first = await context.receive("paid", { schema });
      return `${first} ${await context.receive("paid", { schema })}`;
    });
    const agent = durableAgent(graph, opened(), quick);
    const durable = persistence(agent).agent("a");
    await durable.send("paid", "one");
    await durable.send("paid", "two");
    expect(await agent.run("go", { agentId: "a" })).toMatchObject({ output: "one two" });
    const [first] = await durable.getCheckpoints();
    await durable.rollbackToCheckpoint(first?.checkpointId ?? "");
    expect(await agent.resume({ agentId: "a" })).toMatchObject({ output: "one two" });
  });

  it("wakes a task for a worker", async () => {
    const opened = await storage.open();
    const provider = opened();
    const tasks = new TaskManager({ storage: provider });
    const outputs: unknown[] = [];
    const agent = durableAgent(receiver(1), provider, { ...quick, clock: systemClock });
    const onOutcome = (outcome: object) => void outputs.push(outcome);
    const worker = new TaskWorker({ tasks, agents: { t: agent }, onOutcome });
    await tasks.create({ taskName: "t", inputRequest: "go", taskId: "a" });
    await worker.run();
    await worker.run();
    expect(outputs).toMatchObject([{ outcome: "waiting" }]);
    expect(await tasks.get("a")).toMatchObject({ status: "waiting", data: { waitingFor: "event" } });
    const outside = persistence(durableAgent(receiver(1), opened())).agent("a");
    await outside.send("other", "no");
    await worker.run();
    expect(outputs).toHaveLength(1);
    await outside.send("paid", "one");
    await worker.run();
    expect(outputs[1]).toMatchObject({ outcome: "completed", output: "one" });
    const listed = [];
    for await (const task of tasks.list()) listed.push(task.taskId);
    expect(listed).toEqual(["a"]);
  });

  it("is deleted with its agent", async () => {
    const opened = await storage.open();
    const agent = durableAgent(receiver(1), opened(), quick);
    await agent.run("go", { agentId: "a" });
    await persistence(agent).agent("a").send("paid", "one");
    await persistence(agent).deleteAgent("a");
    expect(await agent.run("go", { agentId: "a" })).toMatchObject({ status: "waiting" });
  });
});

describe("a receipt", () => {
  const [memory] = eventStorages;
  if (!memory) throw new TypeError("there is no storage in memory");

  it("ends without an event when its time is over, also after a restart", async () => {
    const provider = (await memory.open())();
    const clock = new SimulatedClock();
    const graph = asking(
      async (_input, context) => (await context.receive("paid", { schema, timeoutMs: 60_000 })) ?? "nothing",
    );
    const agent = () => durableAgent(graph, provider, { ...quick, clock });
    const waiting = await agent().run("go", { agentId: "a" });
    expect(requestsOf(waiting)).toMatchObject([{ expiresAt: new Date(clock.now() + 60_000).toISOString() }]);
    expect(await summaryOf(provider)).toMatchObject({
      data: { timeoutAt: new Date(clock.now() + 60_000).toISOString() },
    });
    clock.advance(59_999);
    expect(await agent().resume({ agentId: "a" })).toMatchObject({ status: "waiting" });
    clock.advance(1);
    expect(await agent().resume({ agentId: "a" })).toMatchObject({ output: "nothing" });
  });

  it("refuses a payload of another type, and continues after the code is corrected", async () => {
    const provider = (await memory.open())();
    const strict = asking(async (_input, context) => String(await context.receive("paid", { schema: z.number() })));
    await persistence(durableAgent(strict, provider)).agent("a").send("paid", "one");
    const failing = durableAgent(strict, provider, quick);
    await expect(failing.run("go", { agentId: "a" })).rejects.toMatchObject({ code: "invalid_input" });
    expect(await durableAgent(receiver(1), provider, quick).resume({ agentId: "a" })).toMatchObject({ output: "one" });
  });

  it("takes no answer", async () => {
    const provider = (await memory.open())();
    const agent = durableAgent(receiver(1), provider, quick);
    const [request] = requestsOf(await agent.run("go", { agentId: "a" }));
    const durable = persistence(agent).agent("a");
    await expect(durable.answer(request?.requestId ?? "", "x")).rejects.toThrow('event "paid", which send() stores');
    await durable.reject(request?.requestId ?? "", "not needed");
    await expect(agent.resume({ agentId: "a" })).rejects.toMatchObject({ reason: "not needed" });
  });

  it("loses a race to other work of its node, and leaves the event", async () => {
    const provider = (await memory.open())();
    const racing = asking((_input, context) =>
      Promise.race([context.receive("paid", { schema }), context.sleep(1).then(() => "slept")]),
    );
    const agent = durableAgent(racing, provider, { clock: systemClock });
    expect(await agent.run("go", { agentId: "a" })).toMatchObject({ output: "slept" });
    await persistence(agent).agent("a").send("paid", "one");
    expect(await durableAgent(receiver(1), provider, quick).run("next", { agentId: "a" })).toMatchObject({
      output: "one",
    });
  });

  it("in a tool suspends the call, which starts again with the event", async () => {
    const provider = (await memory.open())();
    let starts = 0;
    const waiting = tool({
      name: "wait",
      description: "",
      inputSchema: z.object({}),
      effect: "irreversible",
      execute: async (_input, { context }) => {
        starts++;
        return context.receive("paid", { schema });
      },
    });
    const graph = asking((_input, context) => context.tools.call(waiting, {}));
    const agent = durableAgent(graph, provider, { ...quick, tools: [waiting] });
    expect(await agent.run("go", { agentId: "a" })).toMatchObject({ status: "waiting" });
    await persistence(agent).agent("a").send("paid", "one");
    expect(await agent.resume({ agentId: "a" })).toMatchObject({ output: "one" });
    expect(starts).toBe(2);
  });

  it("in a branch gets an event while another branch works", async () => {
    const provider = (await memory.open())();
    const graph = strategy<string, string>("both", (g) => {
      let open: () => void = () => undefined;
      const received = new Promise<void>((resolve) => (open = resolve));
      const wait = g.node("wait", async (_input: string, context: AgentContext) => {
        const paid = await context.receive("paid", { schema });
        open();
        return paid;
      });
      const work = g.node("work", async () => {
        await received;
        return "worked";
      });
      const both = g.parallel("both", { wait, work }, (results) => `${results.wait} ${results.work}`);
      g.edge(g.start, both);
      g.edge(both, g.finish);
    });
    const agent = durableAgent(graph, provider, { ...quick, clock: systemClock });
    const running = agent.run("go", { agentId: "a" });
    const durable = persistence(agent).agent("a");
    await expect.poll(async () => (await durable.getRequests()).length).toBe(1);
    await durable.send("paid", "one");
    expect(await running).toMatchObject({ output: "one worked" });
  });
});
