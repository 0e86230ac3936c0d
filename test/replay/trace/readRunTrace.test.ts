import { persistence, strategy } from "agent-persistence";
import { compareRuns, readRunTrace, replayRun, type RunTrace } from "agent-persistence/replay";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { loopAgent } from "../../inspect/support/loopAgent.ts";
import { asking, idOf } from "../../persistence/support/asking.ts";
import { called, chain } from "../../persistence/support/calledAgents.ts";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { World } from "../../persistence/support/World.ts";
import { file, memory } from "../../persistence/support/storages.ts";

const path = ({ visits }: RunTrace) =>
  visits.map(({ node, branch, agentPath }) => [...(agentPath ?? []), branch, node].filter(Boolean).join(" "));

describe.each([memory, file])("$name: readRunTrace", ({ open }) => {
  it("returns the path, model requests and calls of a completed run as plain JSON", async () => {
    const storage = (await open())();
    await loopAgent(storage).run("hello", { runId: "r" });
    const trace = await readRunTrace(storage, { agentId: "a" });
    expect(trace).toMatchObject({
      version: 1,
      agentId: "a",
      runId: "r",
      status: "completed",
      input: "hello",
      output: "done",
    });
    expect(path(trace)).toEqual(["callModel", "callTools", "callModel"]);
    expect(trace.visits.map(({ requests }) => requests.map(({ newMessages, model }) => [newMessages, model]))).toEqual([
      [[1, "scripted"]],
      [],
      [[1, "scripted"]],
    ]);
    expect(trace.visits.flatMap(({ calls }) => calls)).toMatchObject([
      { tool: "add", state: "succeeded", input: { item: "x" }, output: { made: "x" } },
      { tool: "send", state: "succeeded", input: { item: "y" }, output: { made: "y" } },
      { tool: "bad", state: "failed", input: { item: "z" }, error: "z is out" },
    ]);
    expect(JSON.parse(JSON.stringify(trace))).toEqual(trace);
  });

  it("leaves out the steps that a rollback abandoned, and reads to a checkpoint of any line", async () => {
    const storage = (await open())();
    const agent = loopAgent(storage);
    await agent.run("hello", { runId: "r" });
    await persistence(agent).agent("a").rollbackToCheckpoint("1-2");
    const reopened = await readRunTrace(storage, { agentId: "a", runId: "r" });
    expect(reopened).toMatchObject({ status: "paused", reason: "rolled back to checkpoint 1-2" });
    expect(path(reopened)).toEqual(["callModel"]);
    expect(path(await readRunTrace(storage, { agentId: "a", runId: "r", at: "1-3" }))).toEqual([
      "callModel",
      "callTools",
    ]);
    const abandoned = await readRunTrace(storage, { agentId: "a", runId: "r", at: "1-4" });
    expect(abandoned).toMatchObject({ status: "completed", output: "done" });
    await agent.resume();
    const again = await readRunTrace(storage, { agentId: "a", runId: "r" });
    expect(path(again)).toEqual(["callModel", "callTools", "callModel"]);
    expect(again.checkpointId).not.toBe("1-4");
  });

  it("shows a node once after a rollback to a checkpoint within it, and after a move to the end of a run", async () => {
    const storage = (await open())();
    const world = new World();
    const add = world.adder("add", "none");
    const built = chain("two", {
      one: async (text, context) => {
        await context.tools.call(add, { item: "x" });
        await persistence(context).createCheckpoint({ checkpointId: "within" });
        await context.tools.call(add, { item: "y" });
        return `${text}1`;
      },
      two: (text) => `${text}2`,
    });
    const agent = durableAgent(built, storage, { tools: [add] });
    await agent.run("go");
    const before = await readRunTrace(storage, { agentId: "a" });
    await persistence(agent).agent("a").rollbackToCheckpoint("within");
    await agent.resume();
    const after = await readRunTrace(storage, { agentId: "a" });
    expect(path(after)).toEqual(["one", "two"]);
    expect(after.visits[0]?.calls.map(({ input }) => input)).toEqual([{ item: "x" }, { item: "y" }]);
    expect(compareRuns(before, after).isSame).toBe(true);
    await persistence(agent)
      .agent("a")
      .rollbackToCheckpoint(after.checkpointId ?? "");
    await agent.resume();
    expect(path(await readRunTrace(storage, { agentId: "a" }))).toEqual(["one", "two"]);
  });

  it("leaves out an execution that moved to an execution point after a checkpoint within it, as its replay does", async () => {
    const storage = (await open())();
    const add = new World().adder("add", "none");
    const built = chain("one", {
      one: async (text, context) => {
        await context.tools.call(add, { item: text });
        await persistence(context).createCheckpoint();
        if (text === "again") return text;
        return persistence(context).setExecutionPoint({ nodeId: "one", input: "again" }) as never;
      },
    });
    const agent = durableAgent(built, storage, { tools: [add] });
    await agent.run("go");
    const recorded = await readRunTrace(storage, { agentId: "a" });
    expect(recorded.visits.map(({ calls }) => calls.map(({ input }) => input))).toEqual([[{ item: "again" }]]);
    const { trace } = await replayRun(agent, { storage, agentId: "a" });
    expect(compareRuns(recorded, trace).isSame).toBe(true);
  });

  it("sorts branches by name and puts sub-agents before their call, independently of their timing", async () => {
    const traceOf = async (first: string) => {
      const storage = (await open())();
      let start = () => {};
      const started = new Promise<void>((resolve) => (start = resolve));
      const wait = async (name: string) => (name === first ? start() : started);
      const ask = called("research", chain("research", { look: async (topic) => `found ${topic}` }));
      const built = strategy<string, string>("beside", (graph) => {
        const deep = graph.node("deep", async (topic: string, context) => {
          await wait("deep");
          return context.tools.call(ask, { topic });
        });
        const quick = graph.node("quick", async (text: string) => {
          await wait("quick");
          return text;
        });
        const both = graph.parallel("both", { quick, deep }, (results) => `${results.quick}, ${results.deep}`);
        const last = graph.node("last", (text: string) => text);
        graph.edge(graph.start, both);
        graph.edge(both, last);
        graph.edge(last, graph.finish);
      });
      await durableAgent(built, storage, { tools: [ask] }).run("go");
      return path(await readRunTrace(storage, { agentId: "a" }));
    };
    const expected = ["research both#deep look", "both#deep deep", "both#quick quick", "both", "last"];
    expect(await traceOf("quick")).toEqual(expected);
    expect(await traceOf("deep")).toEqual(expected);
  });

  it("shows waits with their answers, and durations without the wait", async () => {
    const storage = (await open())();
    const clock = new SimulatedClock();
    const ask = asking(async (_input, context) => {
      clock.advance(100);
      return String(await context.requestInput({ prompt: "how many?", schema: z.number() }));
    });
    const agent = durableAgent(ask, storage, { clock });
    const requestId = idOf(await agent.run("go"));
    expect((await readRunTrace(storage, { agentId: "a" })).visits).toMatchObject([
      { node: "ask", state: "waiting", waits: [{ kind: "input", state: "open", prompt: "how many?" }] },
    ]);
    clock.advance(60_000);
    await persistence(agent).agent("a").answer(requestId, 3);
    await agent.resume();
    const trace = await readRunTrace(storage, { agentId: "a" });
    expect(trace).toMatchObject({ status: "completed", output: "3", durationMs: 100 });
    expect(trace.visits).toMatchObject([
      { node: "ask", durationMs: 100, waits: [{ state: "answered", answer: 3 }] },
      { node: "tell", durationMs: 0, waits: [] },
    ]);
  });

  it("returns the error and the unfinished step of a failed run", async () => {
    const storage = (await open())();
    const built = chain("failing", {
      one: async (text) => text,
      two: () => {
        throw new RangeError("too far");
      },
    });
    await expect(durableAgent(built, storage).run("go")).rejects.toThrow("too far");
    const trace = await readRunTrace(storage, { agentId: "a" });
    expect(trace).toMatchObject({
      status: "failed",
      nextNode: "two",
      error: { name: "RangeError", message: "too far" },
    });
    expect(path(trace)).toEqual(["one"]);
  });

  it("reads the run of its last checkpoint, and refuses a checkpoint of another run", async () => {
    const storage = (await open())();
    const agent = () => durableAgent(chain("two", { one: (text) => `${text}1`, two: (text) => `${text}2` }), storage);
    await agent().run("a", { runId: "monday" });
    await agent().run("b", { runId: "tuesday" });
    const trace = await readRunTrace(storage, { agentId: "a", at: "1-2" });
    expect(trace).toMatchObject({ runId: "monday", input: "a", checkpointId: "1-2", nextNode: "two" });
    expect(path(trace)).toEqual(["one"]);
    const options = { agentId: "a", runId: "tuesday" };
    const refused = {
      code: "invalid_input",
      message: expect.stringContaining('a checkpoint of run "tuesday", received one of run "monday"') as string,
    };
    await expect(readRunTrace(storage, { ...options, at: "1-2" })).rejects.toMatchObject(refused);
    await expect(replayRun(agent(), { ...options, storage, from: "1-2" })).rejects.toMatchObject(refused);
  });

  it("refuses an unknown run and names the existing runs", async () => {
    const storage = (await open())();
    await loopAgent(storage).run("hello", { runId: "r" });
    await expect(readRunTrace(storage, { agentId: "a", runId: "s" })).rejects.toMatchObject({
      code: "run_not_found",
      message: 'Agent "a" has no run "s". Choose one of the newest: "r".',
    });
    await expect(readRunTrace(storage, { agentId: "b" })).rejects.toMatchObject({ code: "run_not_found" });
    await expect(readRunTrace(storage, { agentId: "a", at: "9-9" })).rejects.toMatchObject({
      code: "checkpoint_not_found",
    });
  });
});
