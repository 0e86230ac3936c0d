import {
  AIAgent,
  type AgentContext,
  NoPersistenceStorageProvider,
  persistence,
  tool,
  type AnyTool,
} from "agent-persistence";
import { TimerNotAnswerableError } from "agent-persistence/errors";
import { crashAfter, scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { asking, idOf, idsOf, summaryOf, unfinishedOf } from "../../support/asking.ts";
import { durableAgent } from "../../support/durableAgent.ts";
import { recordedCalls, recordsOf } from "../../support/stored.ts";
import { RowsProvider } from "../../support/storages.ts";
import { World } from "../../support/World.ts";
import { gate } from "../../../agent/gate.ts";
import { WatchedClock } from "../../../internal/WatchedClock.ts";
import { timerStorages } from "./timerStorages.ts";

const hour = 3_600_000;
const day = 24 * hour;
const kindsOf = async (storage: Parameters<typeof recordsOf>[0], kind: string) =>
  (await recordsOf(storage)).filter((record) => record.kind === kind);

/** Books the hotel, sleeps, books the taxi. */
function trip(world: World, sleep: (context: AgentContext) => Promise<void>) {
  const book = world.adder("book", "idempotent");
  const graph = asking(async (input, context) => {
    world.nodes.push("ask");
    await context.tools.call(book, { item: input });
    await sleep(context);
    await context.tools.call(book, { item: "taxi" });
    return "arrived";
  });
  return { graph, tools: [book] as readonly AnyTool[] };
}

const anHour = (context: AgentContext) => context.sleep(hour);

describe.each(timerStorages)("$name: long sleeps", (storage) => {
  it("report the recorded start at once and after a resume, although the clock goes on", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const start = clock.now();
    let reads = 0;
    vi.spyOn(clock, "now").mockImplementation(() => start + reads++);
    const agent = () => durableAgent(trip(new World(), anHour).graph, opened(), { clock });
    const first = await agent().run("hotel", { runId: "r" });
    expect(await agent().resume()).toEqual(first);
  });

  it("end the run as waiting, and a resume after the due time continues and repeats no call", async () => {
    const opened = await storage.open();
    const world = new World();
    const clock = new SimulatedClock();
    const { graph, tools } = trip(world, anHour);
    const agent = () => durableAgent(graph, opened(), { tools, clock });
    const waiting = await agent().run("hotel", { runId: "r" });
    expect(waiting).toEqual({
      status: "waiting",
      runId: "r",
      requests: [
        {
          kind: "timer",
          requestId: idOf(waiting),
          nodeId: "ask",
          agentPath: [],
          prompt: "Sleeps until 2026-01-01T01:00:00.000Z.",
          schema: z.toJSONSchema(z.never()),
          waitingFor: "timer",
          askedAt: "2026-01-01T00:00:00.000Z",
          dueAt: "2026-01-01T01:00:00.000Z",
        },
      ],
    });
    expect(await persistence(agent()).agent().getRequests()).toEqual("requests" in waiting && waiting.requests);
    expect(await summaryOf(opened())).toMatchObject({
      status: "waiting",
      data: { waitingFor: "timer", timeoutAt: "2026-01-01T01:00:00.000Z" },
    });
    const before = await recordsOf(opened());
    clock.advance(hour - 1);
    expect(await agent().resume()).toEqual(waiting);
    expect(await agent().run("hotel")).toEqual(waiting);
    expect(await recordsOf(opened())).toEqual(before);
    clock.advance(1);
    expect(await agent().resume()).toMatchObject({ status: "completed", output: "arrived" });
    expect(world.nodes).toEqual(["ask", "ask"]);
    expect(world.done).toEqual(["book hotel", "book taxi"]);
    expect(await kindsOf(opened(), "request")).toHaveLength(1);
    expect(await kindsOf(opened(), "reply")).toMatchObject([{ expired: true }]);
  });

  it("keep one record and one due time after a crash at each append", async () => {
    const full = await storage.open();
    const clock = new SimulatedClock();
    const built = trip(new World(), anHour);
    const finish = async (storageOf: typeof full, at: SimulatedClock) => {
      const agent = durableAgent(built.graph, storageOf(), { tools: built.tools, clock: at });
      const waiting = await agent.run("hotel");
      at.advance(hour);
      return waiting.status === "waiting" ? agent.resume() : waiting;
    };
    await finish(full, clock);
    let appends = 0;
    for await (const _entry of full().log.read("a")) appends++;
    for (let saves = 0; saves < appends; saves++) {
      const opened = await storage.open();
      const world = new World();
      const at = new SimulatedClock();
      const { graph, tools } = trip(world, anHour);
      const crashed = durableAgent(graph, crashAfter(opened(), saves), { tools, clock: at });
      await crashed
        .run("hotel")
        .then(() => at.advance(hour))
        .then(() => crashed.resume())
        .catch(() => undefined);
      const restarted = durableAgent(graph, opened(), { tools, clock: at });
      let result = await restarted.run("hotel");
      for (let times = 0; result.status === "waiting" && times < 3; times++) {
        at.advance(hour);
        result = await restarted.resume();
      }
      expect(result).toMatchObject({ status: "completed", output: "arrived" });
      expect([...new Set(world.done)]).toEqual(["book hotel", "book taxi"]);
      const lanes = (await kindsOf(opened(), "request")).map((record) => (record as { lane?: number }).lane);
      expect(new Set(lanes).size).toBe(lanes.length);
    }
  });

  it("follow each other, each with one record", async () => {
    const opened = await storage.open();
    const world = new World();
    const clock = new SimulatedClock();
    const { graph, tools } = trip(world, async (context) => {
      for (let times = 0; times < 3; times++) await context.sleep(hour);
    });
    const agent = durableAgent(graph, opened(), { tools, clock });
    let result = await agent.run("hotel");
    let waits = 0;
    for (; result.status === "waiting"; waits++) {
      clock.advance(hour);
      result = await agent.resume();
    }
    expect(waits).toBe(3);
    expect(await kindsOf(opened(), "request")).toHaveLength(3);
  });

  it("keep the first due time if the repeated node passes another one", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const { graph, tools } = trip(new World(), (context) => context.sleepUntil(new Date(clock.now() + hour)));
    const agent = durableAgent(graph, opened(), { tools, clock });
    await agent.run("hotel");
    clock.advance(hour);
    expect(await agent.resume()).toMatchObject({ status: "completed" });
  });

  it("are neither lost nor repeated when the clock jumps by a day", async () => {
    for (const jump of [day, -day]) {
      const opened = await storage.open();
      const world = new World();
      const clock = new SimulatedClock();
      const { graph, tools } = trip(world, anHour);
      const agent = () => durableAgent(graph, opened(), { tools, clock });
      await agent().run("hotel");
      clock.jump(jump);
      clock.advance(hour);
      if (jump < 0) {
        expect(await agent().resume()).toMatchObject({ status: "waiting" });
        clock.jump(-jump);
      }
      const crashed = durableAgent(graph, crashAfter(opened(), 1), { tools, clock });
      await crashed.resume().catch(() => undefined);
      clock.jump(-2 * day);
      expect(await agent().resume()).toMatchObject({ status: "completed" });
      expect(world.done).toEqual(["book hotel", "book taxi"]);
    }
  });

  it("cannot be answered or rejected", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const { graph, tools } = trip(new World(), anHour);
    const agent = durableAgent(graph, opened(), { tools, clock });
    const request = idOf(await agent.run("hotel"));
    const before = await recordsOf(opened());
    const outside = persistence(agent).agent();
    const refused = { code: "timer_not_answerable", requestId: request, dueAt: "2026-01-01T01:00:00.000Z" };
    await expect(outside.answer(request, true)).rejects.toMatchObject(refused);
    await expect(outside.reject(request, "no")).rejects.toThrow(TimerNotAnswerableError);
    await expect(agent.resume({ answers: { [request]: 1 } })).rejects.toMatchObject(refused);
    clock.advance(hour);
    await expect(outside.answer(request, true)).rejects.toMatchObject(refused);
    expect(await recordsOf(opened())).toEqual(before);
    expect(await unfinishedOf(agent)).toEqual(["waiting"]);
  });

  it("can be open together with a request for input, and the first to end continues the run", async () => {
    const ok = { prompt: "ok?", schema: z.boolean() };
    const graph = asking(async (_input, context) =>
      String(await Promise.race([context.sleep(hour).then(() => "late"), context.requestInput(ok)])),
    );
    for (const isAnswered of [true, false]) {
      const opened = await storage.open();
      const clock = new SimulatedClock();
      const agent = durableAgent(graph, opened(), { clock });
      const waiting = await agent.run("go");
      expect(waiting).toMatchObject({ requests: [{ waitingFor: "timer" }, { waitingFor: "user_input" }] });
      expect(await summaryOf(opened())).toMatchObject({ data: { waitingFor: "user_input", promptShownToUser: "ok?" } });
      const person = idsOf(waiting)[1] ?? "";
      if (!isAnswered) clock.advance(hour);
      const result = await agent.resume(isAnswered ? { answers: { [person]: true } } : {});
      expect(result).toMatchObject({ status: "completed", output: isAnswered ? "true" : "late" });
      expect(await kindsOf(opened(), "request")).toHaveLength(2);
    }
  });

  it("suspend the tool call that sleeps, and the call starts again under its id", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const ids: string[] = [];
    const nap = tool({
      name: "nap",
      description: "",
      inputSchema: z.object({}),
      effect: "irreversible",
      execute: async (_input, { context, toolCallId }) => {
        ids.push(toolCallId);
        await context.sleep(hour);
        return "rested";
      },
    });
    const graph = asking((_input, context) => context.tools.call(nap, {}));
    const agent = () => durableAgent(graph, opened(), { tools: [nap], clock });
    expect(await agent().run("go")).toMatchObject({ status: "waiting", requests: [{ kind: "timer" }] });
    expect((await recordedCalls(opened())).inDoubt).toEqual(new Set());
    clock.advance(hour);
    expect(await agent().resume()).toMatchObject({ output: "rested" });
    expect(ids).toEqual([ids[0], ids[0]]);
  });

  it("keep the due time in a fork, and end at once if this time has passed", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const { graph, tools } = trip(new World(), anHour);
    const agent = durableAgent(graph, opened(), { tools, clock });
    await agent.run("hotel");
    clock.advance(hour / 2);
    await persistence(agent).agent("a").fork("b");
    const fork = await agent.resume({ agentId: "b" });
    expect(fork).toMatchObject({ status: "waiting", requests: [{ dueAt: "2026-01-01T01:00:00.000Z" }] });
    clock.advance(hour / 2);
    expect(await agent.resume({ agentId: "b" })).toMatchObject({ status: "completed" });
    expect(await agent.resume()).toMatchObject({ status: "completed" });
  });

  it("are kept by a rollback to a point after them and dropped by one to a point before them", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const points: string[] = [];
    const graph = asking(async (_input, context) => {
      if (points.length < 1) points.push((await persistence(context).createCheckpoint()).checkpointId);
      await context.sleep(hour);
      if (points.length < 2) points.push((await persistence(context).createCheckpoint()).checkpointId);
      await context.sleep(hour);
      return "done";
    });
    const agent = durableAgent(graph, opened(), { clock });
    await agent.run("go");
    clock.advance(hour);
    await agent.resume();
    await persistence(agent)
      .agent()
      .rollbackToCheckpoint(points[1] ?? "");
    expect(await agent.resume()).toMatchObject({ requests: [{ dueAt: "2026-01-01T02:00:00.000Z" }] });
    clock.advance(hour / 2);
    await persistence(agent)
      .agent()
      .rollbackToCheckpoint(points[0] ?? "");
    expect(await agent.resume()).toMatchObject({ requests: [{ dueAt: "2026-01-01T02:30:00.000Z" }] });
  });
});

describe.each(timerStorages)("$name: short sleeps", (storage) => {
  it("end in the process", async () => {
    const opened = await storage.open();
    const clock = new WatchedClock();
    const world = new World();
    const { graph, tools } = trip(world, (context) => context.sleep(5_000));
    const run = durableAgent(graph, opened(), { tools, clock }).run("hotel");
    await clock.runUntil(run, 5_000);
    expect(await run).toMatchObject({ status: "completed", output: "arrived" });
    expect(clock.now()).toBe(Date.UTC(2026, 0, 1) + 5_000);
    expect(world.nodes).toEqual(["ask"]);
  });

  it("last only for the remaining time after a crash", async () => {
    const opened = await storage.open();
    const clock = new WatchedClock();
    const { graph, tools } = trip(new World(), (context) => context.sleep(5_000));
    const stop = new AbortController();
    const run = durableAgent(graph, opened(), { tools, clock }).run("hotel", { signal: stop.signal });
    expect(await clock.timer(5_000)).toBe(5_000);
    clock.advance(2_000);
    stop.abort(new Error("stopped"));
    await expect(run).rejects.toThrow("stopped");
    clock.advance(1_000);
    const again = durableAgent(graph, opened(), { tools, clock }).resume();
    expect(await clock.timer(5_000)).toBe(2_000);
    clock.advance(2_000);
    expect(await again).toMatchObject({ status: "completed" });
    expect(await kindsOf(opened(), "request")).toHaveLength(1);
  });

  it("do not get longer if the clock was set back by a day", async () => {
    const opened = await storage.open();
    const clock = new WatchedClock();
    const { graph, tools } = trip(new World(), (context) => context.sleep(5_000));
    const stop = new AbortController();
    const run = durableAgent(graph, opened(), { tools, clock }).run("hotel", { signal: stop.signal });
    await clock.timer(5_000);
    stop.abort(new Error("stopped"));
    await expect(run).rejects.toThrow("stopped");
    clock.jump(-day);
    const again = durableAgent(graph, opened(), { tools, clock }).resume();
    await clock.runUntil(again, 5_000);
    expect(await again).toMatchObject({ status: "completed" });
  });
});

describe("sleeps", () => {
  it("that become due while other work of the node runs end in the process", async () => {
    const opened = await (timerStorages[0] as (typeof timerStorages)[0]).open();
    const clock = new WatchedClock();
    const work = gate<string>();
    const slow = tool({
      name: "slow",
      description: "",
      inputSchema: z.object({}),
      effect: "none",
      execute: () => work.opened,
    });
    const graph = asking(async (_input, context) => {
      const done = context.tools.call(slow, {});
      const first = await Promise.race([done, context.sleep(hour).then(() => "late")]);
      work.open("done");
      return `${first} ${await done}`;
    });
    const run = durableAgent(graph, opened(), { tools: [slow], clock }).run("go");
    await clock.runUntil(run, hour);
    expect(await run).toMatchObject({ status: "completed", output: "late done" });
  });

  it("that lose a race do not delay the node", async () => {
    const opened = await (timerStorages[0] as (typeof timerStorages)[0]).open();
    for (const ms of [1_000, hour]) {
      const clock = new WatchedClock();
      const graph = asking(async (_input, context) =>
        String(await Promise.race([context.sleep(ms), new Promise((resolve) => setImmediate(resolve, "first"))])),
      );
      expect(await durableAgent(graph, opened(), { clock }).run(`${ms}`)).toMatchObject({ output: "first" });
      clock.advance(hour);
    }
  });

  it("reject with the reason of an abort", async () => {
    const opened = await (timerStorages[0] as (typeof timerStorages)[0]).open();
    for (const ms of [1_000, hour]) {
      const clock = new WatchedClock();
      const caught: unknown[] = [];
      const hold = gate();
      const graph = asking(async (_input, context) => {
        const rest = tool({
          name: "rest",
          description: "",
          inputSchema: z.object({}),
          effect: "none",
          execute: () => hold.opened,
        });
        void context.tools.call(rest, {}).catch(() => undefined);
        await context.sleep(ms).catch((error: unknown) => {
          caught.push(error);
          hold.open();
          throw error;
        });
        return "";
      });
      const stop = new AbortController();
      const run = durableAgent(graph, opened(), { clock }).run("go", { signal: stop.signal, unfinished: "abandon" });
      await clock.timer(ms);
      const reason = new Error("stopped");
      stop.abort(reason);
      await expect(run).rejects.toBe(reason);
      expect(caught).toEqual([reason]);
    }
  });

  it("wait in the process without Persistence", async () => {
    const graph = asking(async (_input, context) => {
      await context.sleep(1);
      await context.sleepUntil(new Date(0));
      return "rested";
    });
    const agent = new AIAgent({ llmModel: "m", promptExecutor: scriptedModel([]), strategy: graph });
    expect(await agent.run("go")).toMatchObject({ output: "rested" });
  });

  it.each([new RowsProvider(), new NoPersistenceStorageProvider()])(
    "are refused only if long, on a storage that keeps no requests",
    async (provider) => {
      const clock = new WatchedClock();
      const graph = asking(async (input, context) => {
        await context.sleep(Number(input));
        return "rested";
      });
      const long = durableAgent(graph, provider, { clock }).run(String(hour));
      await expect(long).rejects.toMatchObject({ code: "waiting_not_supported" });
      const short = durableAgent(graph, provider, { clock }).run("5000", { unfinished: "abandon" });
      await clock.runUntil(short, 5_000);
      expect(await short).toMatchObject({ output: "rested" });
    },
  );

  it("do not end the run as waiting while a feature handles their end", async () => {
    const opened = await (timerStorages[0] as (typeof timerStorages)[0]).open();
    const clock = new WatchedClock();
    const [work, handled] = [gate<string>(), gate()];
    const ended: string[] = [];
    const slow = tool({
      name: "slow",
      description: "",
      inputSchema: z.object({}),
      effect: "none",
      execute: () => work.opened,
    });
    const graph = asking(async (_input, context) => {
      await Promise.all([context.tools.call(slow, {}), context.sleep(hour)]);
      return "rested";
    });
    const agent = durableAgent(graph, opened(), { tools: [slow], clock });
    agent.install(
      {
        key: "slow end",
        install: (pipeline) =>
          pipeline.aroundInputRequest(async (event, next) => {
            await next(event);
            ended.push(event.requestId);
            await handled.opened;
            return undefined;
          }),
      },
      undefined,
    );
    const run = agent.run("go");
    await clock.timer(hour);
    clock.advance(hour);
    await vi.waitFor(() => expect(ended).toHaveLength(1));
    work.open("done");
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    handled.open();
    expect(await run).toMatchObject({ status: "completed", output: "rested" });
  });

  it("are named by the errors of a run that waits for them, and of a storage without requests", async () => {
    const graph = asking(async (_input, context) => {
      await context.sleep(hour);
      return "";
    });
    const opened = await (timerStorages[0] as (typeof timerStorages)[0]).open();
    const agent = durableAgent(graph, opened());
    await agent.run("go");
    await expect(agent.run("another")).rejects.toThrow(/waits for an answer or a timer.*wait until its timers are due/);
    const without = durableAgent(graph, new NoPersistenceStorageProvider()).run("go");
    await expect(without).rejects.toThrow("requested input or a long sleep");
  });

  it("name the limits of a sleep that is too long", async () => {
    const graph = asking(async (_input, context) => {
      await context.sleep(8e15);
      return "";
    });
    const run = durableAgent(graph, new NoPersistenceStorageProvider()).run("go");
    await expect(run).rejects.toThrow("from 0 to below 8e15");
  });

  it.each([-1, Number.NaN, Infinity, "1", new Date(Number.NaN)])("refuse %s", async (wrong) => {
    const graph = asking(async (_input, context) => {
      await (wrong instanceof Date ? context.sleepUntil(wrong) : context.sleep(wrong as number));
      return "";
    });
    const run = durableAgent(graph, new NoPersistenceStorageProvider()).run("go");
    const message: unknown = expect.stringContaining(wrong instanceof Date ? "expected a valid Date" : "milliseconds");
    await expect(run).rejects.toMatchObject({ code: "invalid_input", message });
  });
});
