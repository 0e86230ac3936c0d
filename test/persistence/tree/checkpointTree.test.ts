import { type CheckpointTreeNode, persistence, strategy } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { SimulatedClock } from "agent-persistence/testing";
import { called, chain } from "../support/calledAgents.ts";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { logStorages, RowsProvider } from "../support/storages.ts";

/** "one", then two branches of which one calls an agent, then "last", which may fail. */
function beside(fault: Fault) {
  const ask = called("research", chain("research", { look: async (topic) => `found ${topic}` }));
  const built = strategy<string, string>("beside", (graph) => {
    const one = graph.node("one", (text: string) => text);
    const quick = graph.node("quick", (text: string) => text);
    const deep = graph.node("deep", (topic: string, context) => context.tools.call(ask, { topic }));
    const both = graph.parallel("both", { quick, deep }, (results) => `${results.quick}, ${results.deep}`);
    const last = graph.node("last", (text: string) => {
      fault.strike();
      return text;
    });
    graph.edge(graph.start, one);
    graph.edge(one, both);
    graph.edge(both, last);
    graph.edge(last, graph.finish);
  });
  return { built, options: { tools: [ask] } };
}

function lines({ nodeId, branch, agentPath, move, name, isHead, children }: CheckpointTreeNode, indent = ""): string[] {
  const shown = [nodeId, branch, ...agentPath, move, name, isHead ? "*" : undefined];
  return [
    indent + shown.filter((each) => each !== undefined).join(" "),
    ...children.flatMap((child) => lines(child, `${indent}  `)),
  ];
}

const drawn = (roots: readonly CheckpointTreeNode[]) => roots.flatMap((root) => lines(root));

describe.each(logStorages)("$name: the tree of checkpoints", (storage) => {
  it("contains branches, called agents, joins, moves, names and the head, even after pruning", async () => {
    const fault = new Fault();
    const { built, options } = beside(fault);
    const opened = await storage.open();
    const agent = () => durableAgent(built, opened(), options);
    await fault.stops(agent().run("go"));
    const of = persistence(agent()).agent();
    await of.nameCheckpoint("1-2", "fork");
    await of.rollbackToCheckpoint("fork");
    const tree = drawn(await of.checkpointTree());
    expect(tree.toSorted()).toEqual(
      [
        "one",
        "  both fork",
        "    quick both#quick",
        "      finish both#quick",
        "    deep both#deep",
        "      look both#deep research",
        "        finish both#deep research",
        "      finish both#deep",
        "    both",
        "      last",
        "    both rollback *",
      ].toSorted(),
    );
    expect(tree.slice(0, 2)).toEqual(["one", "  both fork"]);
    await persistence(agent()).prune({ policy: { maxCheckpoints: 2 } });
    const pruned = drawn(await of.checkpointTree());
    expect(pruned.slice(0, 2)).toEqual(["one", "  both fork"]);
    expect(pruned).toContain("    both rollback *");
  });

  it("has a head that follows its lines when the clock goes backwards", async () => {
    const fault = new Fault();
    const { built, options } = beside(fault);
    const opened = await storage.open();
    const clock = new SimulatedClock(1_000_000);
    const late = durableAgent(built, opened(), { ...options, clock });
    await fault.stops(late.run("go"));
    const early = durableAgent(built, opened(), { ...options, clock: new SimulatedClock(1_000) });
    const { checkpointId: from } = (await persistence(early).agent().getCheckpoints())[0] ?? { checkpointId: "none" };
    await persistence(early).agent().rollbackToCheckpoint(from);
    const latest = await persistence(early).agent().getLatestCheckpoint();
    expect(latest).toMatchObject({ parentId: from, nodeId: "one", move: "rollback" });
    const [root] = await persistence(early).agent().checkpointTree();
    expect(root?.children.filter(({ isHead }) => isHead)).toMatchObject([{ checkpointId: latest?.checkpointId }]);
    expect(await early.resume()).toMatchObject({ output: "go, found go" });
  });
});

it("the tree of an agent without checkpoints is empty, and three-method storages support trees", async () => {
  const { built, options } = beside(new Fault());
  const agent = durableAgent(built, new RowsProvider(), options);
  expect(await persistence(agent).agent("nobody").checkpointTree()).toEqual([]);
  await expect(agent.run("go")).rejects.toThrow("stopped");
  expect(drawn(await persistence(agent).agent().checkpointTree())).toContain("one");
});
