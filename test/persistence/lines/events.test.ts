import {
  type AgentContext,
  callModel,
  persistence,
  type PersistenceEvent,
  printEvents,
  strategy,
  textOf,
} from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent, Fault, Stopped } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";

/** A branch that asks the model, and one within another that fails while the fault is there. */
function asking(fault: Fault) {
  return strategy<string, string>("asking", (graph) => {
    const asks = graph.subgraph<string, string>("asks", (inner) => {
      const model = inner.node("model", callModel);
      inner.edge(inner.start, model);
      inner.edge(model, inner.finish, { map: textOf });
    });
    const deep = graph.subgraph<string, string>("deep", (inner) => {
      const stops = inner.node("stops", (text: string) => {
        fault.strike();
        return text;
      });
      const one = inner.each("one", stops, { key: (text) => text }, ([text = ""]) => text);
      inner.edge(inner.start, one, { map: (text: string) => [text] });
      inner.edge(one, inner.finish);
    });
    const both = graph.parallel("both", { asks, deep }, (results) => `${results.asks}, ${results.deep}`);
    graph.edge(graph.start, both);
    graph.edge(both, graph.finish);
  });
}

type Shown = readonly [kind: string, branch: unknown, ...rest: readonly unknown[]];

function shown(event: PersistenceEvent): readonly Shown[] {
  const branch = "branch" in event ? event.branch : undefined;
  switch (event.type) {
    case "checkpoint_saved":
      return [[event.type, branch, event.nodeId, event.trigger]];
    case "checkpoint_restored":
      return [[event.type, branch, event.nodeId, event.by]];
    case "model_answered":
      return [[event.type, branch, event.nodeId]];
    case "branch_failed":
      return [[event.type, branch, event.nodeId, event.error instanceof Stopped]];
    case "checkpoint_skipped":
      return [[event.type, branch, event.nodeId, event.trigger]];
    default:
      return [];
  }
}

const ofLine = (events: readonly Shown[], line: string | undefined) =>
  events.filter(([, branch]) => branch === line).map(([kind, , ...rest]) => [kind, ...rest]);

describe.each(logStorages)("$name: events of branches", (storage) => {
  it("name the branch, in the process that started it and in the next", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const told: Shown[] = [];
    const agent = () =>
      durableAgent(asking(fault), opened(), {
        turns: ["answer"],
        onEvent: (event) => void told.push(...shown(event)),
      });
    await fault.stops(agent().run("go"));
    const deepest = "both#deep/one#go";
    expect(ofLine(told, undefined)).toEqual([["checkpoint_saved", "both", "run_started"]]);
    expect(ofLine(told, "both#asks")).toEqual([
      ["checkpoint_saved", "asks/model", "line_started"],
      ["model_answered", "asks/model"],
      ["checkpoint_saved", "finish", "line_ended"],
    ]);
    // A checkpoint is told of once it is durable, which nobody waits for where a branch begins.
    expect(ofLine(told, "both#deep").map(String).toSorted()).toEqual([
      "branch_failed,deep/one,true",
      "checkpoint_saved,deep/one,line_started",
    ]);
    expect(ofLine(told, deepest).map(String).toSorted()).toEqual([
      "branch_failed,deep/stops,true",
      "checkpoint_saved,deep/stops,line_started",
    ]);
    told.length = 0;
    await expect(agent().resume()).resolves.toMatchObject({ output: "answer, go" });
    expect(ofLine(told, undefined)).toEqual([
      ["checkpoint_restored", "both", "resume"],
      ["checkpoint_saved", "both", "joined"],
      ["checkpoint_saved", "finish", "run_ended"],
    ]);
    expect(ofLine(told, "both#deep")).toEqual([
      ["checkpoint_saved", "deep/one", "joined"],
      ["checkpoint_saved", "finish", "line_ended"],
    ]);
    expect(ofLine(told, deepest)).toEqual([["checkpoint_saved", "finish", "line_ended"]]);
  });

  it("are printed with their branch", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const lines: string[] = [];
    const onEvent = printEvents((line) => void lines.push(line.slice(line.indexOf("a"))));
    await fault.stops(durableAgent(asking(fault), opened(), { turns: ["answer"], onEvent }).run("go"));
    expect(lines).toContain("a both#asks: the model answered in asks/model");
    expect(lines).toContain("a both#deep/one#go: the branch failed in deep/stops: stopped");
    expect(lines).toContain("a: saved checkpoint 1-1 (run_started), next both, iteration 0");
  });

  it("report no failed branch if the run was aborted", async () => {
    const opened = await storage.open();
    const stop = new AbortController();
    const graph = strategy<string, string>("s", (g) => {
      const wait = g.node("wait", async (text: string, { signal }) => {
        stop.abort(new Stopped());
        signal.throwIfAborted();
        return text;
      });
      const both = g.parallel("both", { wait }, (results) => results.wait);
      g.edge(g.start, both);
      g.edge(both, g.finish);
    });
    const kinds: string[] = [];
    const agent = durableAgent(graph, opened(), { onEvent: ({ type }) => void kinds.push(type) });
    await expect(agent.run("go", { signal: stop.signal })).rejects.toBeInstanceOf(Stopped);
    expect(kinds).not.toContain("branch_failed");
  });

  it("of type request_opened name the branch, and the latest checkpoint shows that it waits", async () => {
    const opened = await storage.open();
    const graph = strategy<string, string>("s", (g) => {
      const asks = g.node("asks", (_text: string, context: AgentContext) =>
        context.requestInput({ prompt: "?", schema: z.string() }),
      );
      const ends = g.node("ends", (text: string) => text);
      const both = g.parallel("both", { asks, ends }, (results) => `${results.asks} ${results.ends}`);
      g.edge(g.start, both);
      g.edge(both, g.finish);
    });
    const told: PersistenceEvent[] = [];
    const agent = durableAgent(graph, opened(), { onEvent: (event) => void told.push(event) });
    const result = await agent.run("go");
    expect(told.filter(({ type }) => type === "request_opened")).toMatchObject([
      { branch: "both#asks", nodeId: "asks" },
    ]);
    const outside = persistence(agent).agent("a");
    const lines = async () =>
      (await outside.getLatestCheckpoint())?.branches?.map(({ path, status }) => [path, status]);
    expect(await lines()).toEqual([
      ["both#asks", "waiting"],
      ["both#ends", "completed"],
    ]);
    if (result.status === "waiting") await outside.answer(result.requests[0]?.requestId ?? "", "yes");
    expect((await lines())?.[0]).toEqual(["both#asks", "in_progress"]);
    await expect(agent.resume()).resolves.toMatchObject({ output: "yes go" });
  });
});
