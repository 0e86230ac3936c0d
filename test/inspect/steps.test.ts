import { persistence, type PromptExecutor, strategy, tool } from "agent-persistence";
import { inspect } from "agent-persistence/inspect";
import type { ReadOptions } from "agent-persistence/storage";
import { crashAfter, scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { asking, idOf } from "../persistence/support/asking.ts";
import { called, chain } from "../persistence/support/calledAgents.ts";
import { durableAgent } from "../persistence/support/durableAgent.ts";
import { logStorages } from "../persistence/support/storages.ts";
import { World } from "../persistence/support/World.ts";
import { loopAgent } from "./support/loopAgent.ts";
import { ofKind, stepsOf } from "./support/stepsOf.ts";

function bound(target: object, key: string | symbol): unknown {
  const value: unknown = Reflect.get(target, key);
  return typeof value === "function" ? (value.bind(target) as unknown) : value;
}

describe.each(logStorages)("$name: the steps of an agent", ({ open }) => {
  it("show parallel calls of one response, their outcomes, and the calls that a rollback reverted", async () => {
    const storage = (await open())();
    const agent = loopAgent(storage);
    await agent.run("hello");
    const callsOf = async () => ofKind(await stepsOf(storage), "visit").flatMap(({ calls }) => calls);
    expect(await callsOf()).toMatchObject([
      { tool: "add", state: "succeeded", undo: "possible", group: 0, input: { value: { item: "x" } } },
      { tool: "send", state: "succeeded", undo: "irreversible", group: 0, output: { value: { made: "y" } } },
      { tool: "bad", state: "failed", undo: "no_effect", group: 0, error: "z is out" },
    ]);
    await persistence(agent).agent("a").rollbackToCheckpoint("1-2");
    const steps = await stepsOf(storage);
    expect((await callsOf()).map(({ undo }) => undo)).toEqual(["reverted", "irreversible", "no_effect"]);
    expect(ofKind(steps, "rollback")).toMatchObject([
      {
        rollback: {
          state: "done",
          targetId: "1-2",
          fromId: "1-4",
          checkpointId: "2-5",
          calls: [{ tool: "add", state: "reverted" }],
        },
      },
    ]);
    expect(ofKind(steps, "move")).toMatchObject([
      { move: "rollback", leftId: "1-4", checkpoint: { parentId: "1-2", isHead: true, isLeft: false } },
    ]);
    const left = ofKind(steps, "visit").filter(({ checkpoint }) => checkpoint?.isLeft);
    expect(left.map(({ checkpoint }) => checkpoint?.checkpointId)).toEqual(["1-3", "1-4"]);
    expect(ofKind(steps, "owner")).toMatchObject([{ before: 1, generation: 2, tookOver: false }]);
    expect(ofKind(steps, "status").at(-1)).toMatchObject({ status: "paused", reason: "rolled back to checkpoint 1-2" });
    expect(ofKind(steps, "visit")[0]?.answers[0]?.message).toMatchObject({ value: { role: "assistant" } });
    expect(ofKind(steps, "visit").map(({ changes }) => changes.messages.added.length)).toEqual([2, 0, 2]);
  });

  it("show all values if another call reads new appends at the same time", async () => {
    const storage = (await open())();
    const agent = durableAgent(
      asking(async (_input, context) =>
        String(await context.requestInput({ prompt: "how many?", schema: z.number() })),
      ),
      storage,
    );
    const requestId = idOf(await agent.run("go"));
    let meanwhile = async () => {};
    const log = new Proxy(storage.log, {
      get: (target, key) =>
        key === "read"
          ? async function* (agentId: string, options: ReadOptions = {}) {
              if (options.upTo !== undefined) await meanwhile();
              yield* target.read(agentId, options);
            }
          : bound(target, key),
    });
    const view = inspect(new Proxy(storage, { get: (target, key) => (key === "log" ? log : bound(target, key)) }));
    meanwhile = async () => {
      meanwhile = async () => {};
      await persistence(agent).agent("a").answer(requestId, 3);
      await view.agent("a");
    };
    const { steps } = await view.steps("a");
    const requests = ofKind(steps, "visit").flatMap((step) => step.requests);
    expect(requests).toMatchObject([{ state: "answered", answer: { value: 3 } }]);
  });

  it("show the calls of consecutive responses in consecutive groups", async () => {
    const storage = (await open())();
    const add = new World().adder("add");
    const work = chain("three", {
      work: async (_text, { llm, tools }) => {
        for (let at = 0; at < 3; at++) await tools.execute(await llm.request());
        return "done";
      },
    });
    const toolCalls = ["x", "y"].map((item) => ({ toolName: "add", input: { item } }));
    const model: PromptExecutor = { execute: (request) => scriptedModel([{ toolCalls }]).execute(request) };
    await durableAgent(work, storage, { tools: [add], model }).run("go");
    const calls = ofKind(await stepsOf(storage), "visit").flatMap((step) => step.calls);
    expect(calls.map(({ group }) => group)).toEqual([0, 0, 1, 1, 2, 2]);
  });

  it("show the input of a call that a model requested before many other responses", async () => {
    const storage = (await open())();
    const world = new World();
    const add = world.adder("add");
    const work = chain("many", {
      work: async (_text, { llm, tools }) => {
        const message = await llm.request();
        for (let at = 0; at < 9; at++) await llm.request();
        await tools.execute(message);
        return "done";
      },
    });
    const turns = [{ toolCalls: [{ toolName: "add", input: { item: "x" } }] }];
    let model = scriptedModel(turns);
    const promptExecutor: PromptExecutor = {
      execute: async (request) => {
        const answer = await model.execute(request);
        model = scriptedModel(["other"]);
        return answer;
      },
    };
    await durableAgent(work, storage, { tools: [add], model: promptExecutor }).run("go");
    const [call] = ofKind(await stepsOf(storage), "visit").flatMap(({ calls }) => calls);
    expect(call).toMatchObject({ tool: "add", input: { value: { item: "x" } } });
  });

  it("show a call in doubt after a crash, and the owner that took over", async () => {
    const opened = await open();
    const world = new World();
    await loopAgent(crashAfter(opened(), 3), world)
      .run("hello")
      .catch(() => {});
    const view = inspect(opened());
    const cut = ofKind(await stepsOf(opened()), "visit").at(-1);
    expect(cut).toMatchObject({ node: "callTools", state: "cut", fromId: "1-2" });
    expect(cut?.checkpoint).toBeUndefined();
    expect(cut?.calls.map(({ state, undo }) => [state, undo])).toEqual([
      ["in_doubt", "possible"],
      ["in_doubt", "irreversible"],
      ["in_doubt", "irreversible"],
    ]);
    expect((await view.agent("a"))?.inDoubt.map(({ tool }) => tool)).toEqual(["add", "send", "bad"]);
    const of = persistence(loopAgent(opened(), world)).agent("a");
    for (const { toolCallId } of await of.getToolCallsInDoubt()) await of.settleToolCall(toolCallId, { output: 1 });
    await loopAgent(opened(), world).resume();
    const steps = await stepsOf(opened());
    expect(ofKind(steps, "owner").map(({ tookOver }) => tookOver)).toContain(true);
    expect(ofKind(steps, "visit").flatMap(({ calls }) => calls.map(({ settledBy }) => settledBy))).toEqual(
      Array.from({ length: 3 }, () => "outside"),
    );
    expect((await view.agent("a"))?.inDoubt).toEqual([]);
  });

  it("show the running step and its owner", async () => {
    const opened = await open();
    const seen: unknown[] = [];
    const look = tool({
      name: "look",
      description: "",
      inputSchema: z.object({}),
      execute: async () => {
        const agent = await inspect(opened()).agent("a");
        seen.push(ofKind(await stepsOf(opened()), "visit").at(-1), agent);
      },
    });
    const built = chain("looking", {
      work: async (text, context) => `${text}${String(await context.tools.call(look, {}))}`,
    });
    await durableAgent(built, opened(), { tools: [look] }).run("go");
    expect(seen).toMatchObject([
      { node: "work", state: "running", calls: [{ tool: "look", state: "running" }] },
      { status: "in_progress", inDoubt: [], owner: { state: "alive", generation: 1, processId: process.pid } },
    ]);
    const after = await inspect(opened()).agent("a");
    expect(after).toMatchObject({ status: "completed", counts: { calls: 1, runs: 1, owners: 1 } });
    expect(after?.owner).toBeUndefined();
  });

  it("show each request with its answer and author, without a takeover by the answer", async () => {
    const opened = await open();
    const ask = asking(async (_input, context) =>
      String(await context.requestInput({ prompt: "how many?", schema: z.number() })),
    );
    const agent = durableAgent(ask, opened());
    const requestId = idOf(await agent.run("go"));
    const [asked] = ofKind(await stepsOf(opened()), "visit");
    expect(asked).toMatchObject({
      state: "waiting",
      requests: [{ requestId, state: "open", kind: "input", prompt: { value: "how many?" } }],
    });
    expect(await inspect(opened()).agent("a")).toMatchObject({ status: "waiting", requests: [{ requestId }] });
    await persistence(agent).agent().answer(requestId, 3, { by: "Ann" });
    await durableAgent(ask, opened()).resume();
    const steps = await stepsOf(opened());
    const [request] = ofKind(steps, "visit")[0]?.requests ?? [];
    expect(request).toMatchObject({ state: "answered", answer: { value: 3 }, by: "Ann" });
    expect(ofKind(steps, "owner").map(({ tookOver }) => tookOver)).toEqual([false, false]);
    expect((await inspect(opened()).agent("a"))?.requests).toEqual([]);
  });

  it("show branches and sub-agents in separate lanes, and the join", async () => {
    const storage = (await open())();
    const ask = called("research", chain("research", { look: async (topic) => `found ${topic}` }));
    const built = strategy<string, string>("beside", (graph) => {
      const quick = graph.node("quick", (text: string) => text);
      const deep = graph.node("deep", (topic: string, context) => context.tools.call(ask, { topic }));
      const both = graph.parallel("both", { quick, deep }, (results) => `${results.quick}, ${results.deep}`);
      graph.edge(graph.start, both);
      graph.edge(both, graph.finish);
    });
    await durableAgent(built, storage, { tools: [ask] }).run("go");
    const { steps, lanes } = await inspect(storage).steps("a");
    expect(lanes).toMatchObject([
      { line: { agentPath: [] }, state: "open" },
      { line: { branch: "both#quick", agentPath: [] }, parentLane: 1, fromId: "1-1", state: "ended" },
      { line: { branch: "both#deep", agentPath: [] }, parentLane: 1, fromId: "1-1", state: "ended" },
      { line: { branch: "both#deep", agentPath: ["research"] }, parentLane: 3, state: "ended" },
    ]);
    const [call] = ofKind(steps, "visit").flatMap(({ calls }) => calls);
    expect(lanes.at(-1)?.toolCallId).toBe(call?.toolCallId);
    expect(ofKind(steps, "begin").map(({ lane, checkpoint }) => [lane, checkpoint.node])).toEqual([
      [1, "both"],
      [2, "quick"],
      [3, "deep"],
      [4, "look"],
    ]);
    const joins = ofKind(steps, "visit").flatMap(({ checkpoint }) => checkpoint?.otherParentIds ?? []);
    expect(joins).toHaveLength(3);
    expect(steps.filter((step) => "checkpoint" in step && step.checkpoint?.isLeft)).toEqual([]);
  });
});
