import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkpointTree, type CheckpointTreeNode } from "../../../src/checkpoint/data/checkpointTree.ts";
import type { AgentRecord } from "../../../src/checkpoint/records/AgentRecord.ts";
import type { LogProjection } from "../../../src/checkpoint/state/LogProjection.ts";
import { GrownLog } from "../support/GrownLog.ts";
import { branch, checkpoint, extended, lane, projectionOf, run, subAgent } from "../support/projection.ts";

const begun = (): LogProjection => projectionOf([run, lane(1, { keep: "nothing" }), checkpoint(1, 1)]);

/** Each node as its version, and those that follow it; heads have a star. */
function drawn(nodes: readonly CheckpointTreeNode[]): string {
  return nodes
    .map(
      ({ version, isHead, children }) =>
        `${version}${isHead ? "*" : ""}${children.length > 0 ? `(${drawn(children)})` : ""}`,
    )
    .join(" ");
}

/** Without recursion. */
function* walk(roots: readonly CheckpointTreeNode[]): Generator<readonly [CheckpointTreeNode, CheckpointTreeNode?]> {
  const open: (readonly [CheckpointTreeNode, CheckpointTreeNode?])[] = roots.map((node) => [node] as const);
  for (let next = open.pop(); next; next = open.pop()) {
    yield next;
    for (const child of next[0].children) open.push([child, next[0]]);
  }
}

describe("the tree of checkpoints", () => {
  it("shows a line as a chain, and a move as a sibling of the work it left", () => {
    const index = extended(begun(), [checkpoint(1, 2)], [checkpoint(1, 3)]);
    extended(index, [lane(2, { from: 2 }), checkpoint(2, 4, { move: "rollback" })], [checkpoint(2, 5)]);
    extended(index, [lane(3, { from: 1 }), checkpoint(3, 6, { move: "edit", by: "ann", reason: "wrong" })]);
    expect(drawn(checkpointTree(index))).toBe("1(2(3 4(5)) 6*)");
    const nodes = [...walk(checkpointTree(index))].map(([node]) => node);
    expect(nodes.find(({ version }) => version === 4)).toEqual({
      children: [expect.objectContaining({ version: 5 })],
      checkpointId: "1-4",
      version: 4,
      runId: "r",
      createdAt: "1970-01-01T00:00:00.000Z",
      nodeId: "n4",
      agentPath: [],
      status: "in_progress",
      move: "rollback",
      isHead: false,
    });
    expect(nodes.find(({ version }) => version === 6)).toMatchObject({ move: "edit", by: "ann", reason: "wrong" });
  });

  it("shows branches under their fork, and their ends as additional parents of the join", () => {
    const index = extended(begun(), [checkpoint(1, 2, { node: "both" })]);
    extended(index, [...branch(2, 3, [1, 2, "a"]), ...branch(3, 4, [1, 2, "b"])], [checkpoint(2, 5)]);
    expect(drawn(checkpointTree(index))).toBe("1(2*(3(5*) 4*))");
    const end = { node: "finish", ended: true } as const;
    extended(index, [checkpoint(2, 6, end)], [checkpoint(3, 7, end)], [checkpoint(1, 8, { node: "both", joined: 2 })]);
    expect(drawn(checkpointTree(index))).toBe("1(2(3(5(6)) 4(7) 8*))");
    const nodes = [...walk(checkpointTree(index))].map(([node]) => node);
    expect(nodes.flatMap(({ version, otherParentIds }) => (otherParentIds ? [[version, otherParentIds]] : []))).toEqual(
      [[8, ["1-6", "1-7"]]],
    );
    expect(nodes.find(({ version }) => version === 7)).toMatchObject({ branch: "both#b", status: "completed" });
  });

  it("shows a called agent under the checkpoint of its caller, with the tool in its path", () => {
    const intent: AgentRecord = {
      kind: "intent",
      lane: 1,
      visit: [2, 0],
      call: "c",
      tool: "research",
      effect: "none",
      node: "n2",
    };
    const index = extended(begun(), [checkpoint(1, 2)], [intent, ...subAgent(2, 3, [1, "c"])], [checkpoint(2, 4)]);
    extended(index, [checkpoint(2, 5, { node: "finish", ended: true })], [checkpoint(1, 6)]);
    expect(drawn(checkpointTree(index))).toBe("1(2(3(4(5)) 6*))");
    const nodes = [...walk(checkpointTree(index))].map(([node]) => node);
    expect(nodes.find(({ version }) => version === 4)).toMatchObject({ agentPath: ["research"] });
    expect(nodes.find(({ version }) => version === 6)?.otherParentIds).toEqual(["1-5"]);
  });

  it("has its head on the current lines, whatever the times are", () => {
    const index = projectionOf([run, lane(1, { keep: "nothing" }), checkpoint(1, 1, { at: 900 })]);
    extended(index, [checkpoint(1, 2, { at: 800 })], [lane(2, { from: 1 }), checkpoint(2, 3, { at: 100 })]);
    expect(drawn(checkpointTree(index))).toBe("1(2 3*)");
    expect(index.latest?.version).toBe(3);
  });

  it("is built from 10,000 nested checkpoints without recursion", () => {
    const records = Array.from({ length: 9_999 }, (_, at) => checkpoint(1, at + 2));
    const index = extended(begun(), records);
    const nodes = [...walk(checkpointTree(index))];
    expect(nodes).toHaveLength(10_000);
    expect(nodes.findLast(([{ isHead }]) => isHead)?.[0].version).toBe(10_000);
  });

  it("contains each checkpoint of random lines once below its parent, and a head per open line", () => {
    const step = fc.tuple(fc.nat(GrownLog.acts - 1), fc.nat(50), fc.nat(50));
    const check = fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
      const { index } = new GrownLog(steps);
      const nodes = [...walk(checkpointTree(index))];
      expect(nodes.map(([{ version }]) => version).toSorted((a, b) => a - b)).toEqual([...index.checkpoints.keys()]);
      for (const [{ version }, parent] of nodes) {
        const point = index.checkpoints.get(version);
        const followed = point && index.parentIdOf(point);
        if (followed !== undefined) expect(parent?.checkpointId).toBe(followed);
        if (parent) expect(parent.version).toBeLessThan(version);
        // Only the first checkpoint of the agent follows none.
        expect(parent === undefined).toBe(version === 1);
      }
      const heads = nodes.flatMap(([{ isHead, version }]) => (isHead ? [version] : []));
      const open = index.lines.openLanes.flatMap((each) => index.latestOf(each)?.version ?? []);
      expect(heads.toSorted((a, b) => a - b)).toEqual(open.toSorted((a, b) => a - b));
    });
    fc.assert(check, { numRuns: 60 });
  });
});
