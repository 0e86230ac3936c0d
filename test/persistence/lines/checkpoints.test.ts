import { type AgentCheckpointData, type AgentContext, persistence, storageKey, strategy } from "agent-persistence";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { logStorages, storages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const found = storageKey("found", z.string());

/** "quick" ends; "deep" runs a parallel node of its own, whose branch "stops" fails while the fault is there. */
function stopping(world: World, fault: Fault) {
  const note = (name: string, context: AgentContext) => {
    world.nodes.push(name);
    context.llm.append({ role: "user", content: `in ${name}` });
    context.storage.set(found, name);
    context.recordDecision({ decision: name });
    return name;
  };
  return strategy<string, string>("stopping", (graph) => {
    const first = graph.node("first", (text: string, context: AgentContext) => note(text, context));
    const quick = graph.node("quick", (_text: string, context: AgentContext) => note("quick", context));
    const deep = graph.subgraph<string, string>("deep", (inner) => {
      const stops = inner.node("stops", (_text: string, context: AgentContext) => {
        fault.strike();
        return note("stops", context);
      });
      const done = inner.node("done", (_text: string, context: AgentContext) => note("done", context));
      const within = inner.parallel("within", { stops, done }, (results, context) => {
        context.branches.stops.adopt();
        return `${results.stops}+${results.done}`;
      });
      inner.edge(inner.start, within);
      inner.edge(within, inner.finish);
    });
    const both = graph.parallel("both", { quick, deep }, (results, context) => {
      context.storage.set(found, "merged");
      return `${results.quick}, ${results.deep}`;
    });
    const last = graph.node("last", (text: string, context: AgentContext) => note(text, context));
    graph.edge(graph.start, first);
    graph.edge(first, both);
    graph.edge(both, last);
    graph.edge(last, graph.finish);
  });
}

const shown = ({ branch, nodeId, status, agentPath }: AgentCheckpointData) => [branch, nodeId, status, ...agentPath];
const open = ({ branches = [] }: AgentCheckpointData) => branches.map(({ path, status }) => [path, status]);

describe.each(storages)("$name: checkpoints of lines", (storage) => {
  const stopped = async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const world = new World();
    const agent = () => durableAgent(stopping(world, fault), opened());
    await fault.stops(agent().run("go"));
    return { agent, world, of: persistence(agent()).agent("a") };
  };

  it("the latest checkpoint belongs to the main line, and lists its open branches", async () => {
    const { of } = await stopped();
    const latest = await of.getLatestCheckpoint();
    expect(latest && shown(latest)).toEqual([undefined, "both", "in_progress"]);
    expect(latest?.branches).toEqual([
      {
        path: "both#quick",
        nodeId: "finish",
        status: "completed",
        lastInput: "quick",
        output: "quick",
        messageHistory: [
          { role: "user", content: "in go" },
          { role: "user", content: "in quick" },
        ],
      },
      {
        path: "both#deep",
        nodeId: "deep/within",
        status: "in_progress",
        lastInput: "go",
        messageHistory: [{ role: "user", content: "in go" }],
      },
    ]);
  });

  it("the list shows the oldest first, each with its branch and nested branches", async () => {
    const { of } = await stopped();
    const all = await of.getCheckpoints();
    expect(all.map(shown)).toEqual([
      [undefined, "first", "in_progress"],
      [undefined, "both", "in_progress"],
      ["both#quick", "quick", "in_progress"],
      ["both#deep", "deep/within", "in_progress"],
      ["both#deep/within#stops", "deep/stops", "in_progress"],
      ["both#deep/within#done", "deep/done", "in_progress"],
      ["both#quick", "finish", "completed"],
      ["both#deep/within#done", "finish", "completed"],
    ]);
    const [, fork, quick, deep, stops, , end] = all;
    expect([quick, deep, stops].map((each) => each?.parentId)).toEqual([
      fork?.checkpointId,
      fork?.checkpointId,
      deep?.checkpointId,
    ]);
    expect([end?.storage, end?.iteration]).toEqual([{ found: "quick" }, 2]);
  });

  it("a joined line shows no branches, and names the fork", async () => {
    const { agent, of, world } = await stopped();
    await expect(agent().resume()).resolves.toMatchObject({ output: "quick, stops+done" });
    expect(world.nodes).toEqual(["go", "quick", "done", "stops", "quick, stops+done"]);
    const all = await of.getCheckpoints();
    const forks = new Map(all.map(({ checkpointId, nodeId, branch }) => [checkpointId, [branch, nodeId]]));
    const joins = all.flatMap(({ joined, branch, nodeId }) => (joined ? [[branch, nodeId, forks.get(joined)]] : []));
    expect(joins).toEqual([
      ["both#deep", "deep/within", ["both#deep", "deep/within"]],
      [undefined, "both", [undefined, "both"]],
    ]);
    expect((await of.getLatestCheckpoint())?.branches).toBeUndefined();
  });
});

describe.each(logStorages)("$name: the latest checkpoint of a line", (storage) => {
  it("includes the branches of nested lines", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const agent = durableAgent(stopping(new World(), fault), opened());
    await fault.stops(agent.run("go"));
    const all = await persistence(agent).agent("a").getCheckpoints();
    expect(all.map(open).filter((branches) => branches.length > 0)).toEqual([
      [
        ["both#quick", "completed"],
        ["both#deep", "in_progress"],
      ],
      [
        ["both#deep/within#stops", "in_progress"],
        ["both#deep/within#done", "completed"],
      ],
    ]);
  });
});

describe.each(storages)("$name: a crashed run with branches", (storage) => {
  it("continues from its checkpoints without running finished branches again", async () => {
    const fault = new Fault();
    fault.repair();
    const endOf = async (agent: ReturnType<typeof durableAgent>) => {
      const end = await persistence(agent).agent("a").getLatestCheckpoint();
      const decided = end?.decisions.map(({ decision, nodeId }) => `${nodeId}: ${decision}`);
      return [end?.nodeId, end?.storage, end?.messageHistory, end?.iteration, decided];
    };
    const undisturbed = durableAgent(stopping(new World(), fault), (await storage.open())());
    await undisturbed.run("go", { runId: "r" });
    const wanted = await endOf(undisturbed);
    expect(wanted.at(-1)).toEqual(["first: go", "both: quick", "both: stops", "both: done", "last: quick, stops+done"]);
    for (let saves = 0, isOver = false; !isOver; saves++) {
      const opened = await storage.open();
      const world = new World();
      const crashing = durableAgent(stopping(world, fault), crashAfter(opened(), saves));
      isOver = await crashing.run("go", { runId: "r" }).then(
        () => true,
        () => false,
      );
      const agent = durableAgent(stopping(world, fault), opened());
      const stored = await persistence(agent).agent("a").getCheckpoints();
      const ended = stored.flatMap(({ branch, status }) => (status === "completed" ? [branch?.split("#").at(-1)] : []));
      const before = world.nodes.length;
      const result = await agent.run("go", { runId: "r" });
      expect(result, `after ${saves}`).toMatchObject({ status: "completed", output: "quick, stops+done" });
      expect(await endOf(agent)).toEqual(wanted);
      const again = world.nodes.slice(before);
      for (const node of ended) expect(again, `after ${saves}`).not.toContain(node);
    }
  });
});
