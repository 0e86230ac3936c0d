import { type AgentContext, persistence, type PersistenceEvent, strategy } from "agent-persistence";
import { crashAfter, SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { gate } from "../../../agent/gate.ts";
import { WatchedClock } from "../../../internal/WatchedClock.ts";
import { called, chain } from "../../support/calledAgents.ts";
import { requestsOf } from "../../support/asking.ts";
import { durableAgent } from "../../support/durableAgent.ts";
import { recordsOf } from "../../support/stored.ts";
import { timerStorages } from "./timerStorages.ts";

const hour = 3_600_000;

async function timersIn(storage: Parameters<typeof recordsOf>[0]) {
  return (await recordsOf(storage)).filter(({ kind }) => kind === "request");
}

/** A branch that sleeps, beside a branch that does what it is given. */
function beside(other: (context: AgentContext) => Promise<string>) {
  return strategy<string, string>("beside", (graph) => {
    const sleeps = graph.node("a", async (_: string, context: AgentContext) => {
      await context.sleep(hour);
      return "rested";
    });
    const b = graph.node("b", (_: string, context: AgentContext) => other(context));
    const both = graph.parallel("both", { a: sleeps, b }, (results) => Object.values(results).join(" "));
    graph.edge(graph.start, both);
    graph.edge(both, graph.finish);
  });
}

describe.each(timerStorages)("$name: sleeping lines", (storage) => {
  it("can be open together with a request for input, and the first to end continues the run", async () => {
    const built = beside((context) => context.requestInput({ prompt: "ok?", schema: z.string() }));
    for (const isAnswered of [true, false]) {
      const opened = await storage.open();
      const clock = new SimulatedClock();
      const agent = () => durableAgent(built, opened(), { clock });
      const waiting = requestsOf(await agent().run("go"));
      expect(waiting).toMatchObject([
        { branch: "both#a", waitingFor: "timer", dueAt: "2026-01-01T01:00:00.000Z" },
        { branch: "both#b", waitingFor: "user_input" },
      ]);
      const answers = { [waiting[1]?.requestId ?? ""]: "yes" };
      if (!isAnswered) clock.advance(hour);
      const next = await agent().resume(isAnswered ? { answers } : {});
      expect(next).toMatchObject({
        status: "waiting",
        requests: [{ waitingFor: isAnswered ? "timer" : "user_input" }],
      });
      clock.advance(hour);
      expect(await agent().resume(isAnswered ? {} : { answers })).toMatchObject({ output: "rested yes" });
      expect(await timersIn(opened())).toHaveLength(isAnswered ? 2 : 3);
    }
  });

  it("continue in the process that still runs another line", async () => {
    const opened = await storage.open();
    const clock = new WatchedClock();
    const [asleep, end] = [gate(), gate()];
    const built = beside(async () => {
      await end.opened;
      return "done";
    });
    const onEvent = ({ type }: PersistenceEvent) => void (type === "request_opened" && asleep.open());
    const run = durableAgent(built, opened(), { clock, onEvent }).run("go");
    await asleep.opened;
    clock.advance(hour);
    end.open();
    expect(await run).toMatchObject({ status: "completed", output: "rested done" });
    expect(await timersIn(opened())).toHaveLength(1);
  });

  it("of each have one timer per item", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const built = strategy<string, string>("all", (graph) => {
      const one = graph.node("one", async (item: string, context: AgentContext) => {
        await context.sleep(Number(item) * hour);
        return item;
      });
      const all = graph.each("all", one, { concurrency: 3 }, (results: readonly string[]) => results.join());
      graph.edge(graph.start, all, { map: () => ["1", "2", "3"] });
      graph.edge(all, graph.finish);
    });
    const agent = () => durableAgent(built, opened(), { clock });
    expect(requestsOf(await agent().run("go"))).toHaveLength(3);
    for (const left of [2, 1]) {
      clock.advance(hour);
      expect(requestsOf(await agent().resume())).toHaveLength(left);
    }
    clock.advance(hour);
    expect(await agent().resume()).toMatchObject({ output: "1,2,3" });
    expect(await timersIn(opened())).toHaveLength(3);
  });

  it("of sub-agents end the run of the caller as waiting", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const nodes: string[] = [];
    const inner = called(
      "inner",
      chain("inner", {
        rest: async (text, context) => {
          nodes.push("rest");
          await context.sleep(hour);
          return text;
        },
      }),
    );
    const built = chain("outer", { go: (text, { tools }) => tools.call(inner, { topic: text }) });
    const agent = () => durableAgent(built, opened(), { tools: [inner], clock });
    expect(await agent().run("tea")).toMatchObject({ requests: [{ kind: "timer", agentPath: ["inner"] }] });
    clock.advance(hour);
    expect(await agent().resume()).toMatchObject({ output: "tea" });
    expect(nodes).toHaveLength(2);
    expect(await timersIn(opened())).toHaveLength(1);
  });

  it("have one record per lane after a crash at each append", async () => {
    const built = beside(async (context) => {
      await context.sleep(2 * hour);
      return "done";
    });
    for (let saves = 0, isDone = false; !isDone; saves++) {
      const opened = await storage.open();
      const clock = new SimulatedClock();
      const crashed = durableAgent(built, crashAfter(opened(), saves), { clock });
      const finish = async (agent: typeof crashed) => {
        let result = await agent.run("go");
        for (let times = 0; result.status === "waiting" && times < 4; times++) {
          clock.advance(hour);
          result = await agent.resume();
        }
        return result;
      };
      const first = await finish(crashed).catch(() => undefined);
      isDone = first !== undefined;
      const result = first ?? (await finish(durableAgent(built, opened(), { clock })));
      expect(result).toMatchObject({ status: "completed", output: "rested done" });
      const ids = (await timersIn(opened())).map((record) => (record as { readonly request?: string }).request);
      expect(new Set(ids).size).toBe(ids.length);
    }
  });

  it("cannot be answered after their end, while another line runs", async () => {
    const opened = await storage.open();
    const clock = new WatchedClock();
    const end = gate();
    const built = beside(async () => {
      await end.opened;
      return "done";
    });
    const requests: string[] = [];
    const onEvent = (event: PersistenceEvent) =>
      void (event.type === "request_opened" && requests.push(event.requestId));
    const agent = durableAgent(built, opened(), { clock, onEvent });
    const run = agent.run("go");
    await vi.waitFor(() => expect(requests).toHaveLength(1));
    clock.advance(hour);
    const answered = persistence(agent)
      .agent()
      .answer(requests[0] ?? "", true);
    await expect(answered).rejects.toMatchObject({ code: "timer_not_answerable", dueAt: "2026-01-01T01:00:00.000Z" });
    end.open();
    expect(await run).toMatchObject({ status: "completed" });
  });

  it("are shown while another process runs the agent", async () => {
    const opened = await storage.open();
    const clock = new WatchedClock();
    const end = gate();
    const asleep = gate();
    const built = beside(async () => {
      await end.opened;
      return "done";
    });
    const onEvent = ({ type }: PersistenceEvent) => void (type === "request_opened" && asleep.open());
    const run = durableAgent(built, opened(), { clock, onEvent }).run("go");
    await asleep.opened;
    const listed = [];
    for await (const request of persistence(durableAgent(built, opened())).listRequests({ waitingFor: "timer" }))
      listed.push(request);
    expect(listed).toMatchObject([{ agentId: "a", kind: "timer", branch: "both#a" }]);
    clock.advance(hour);
    end.open();
    expect(await run).toMatchObject({ status: "completed" });
  });
});
