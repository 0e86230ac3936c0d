import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkpointGraph } from "../../../src/cli/reading/tree.ts";

interface Drawn {
  readonly checkpointId: string;
  readonly lane: number;
  readonly parentId?: string;
  readonly otherParentIds?: readonly string[];
}

const graphOf = (checkpoints: readonly Drawn[]) =>
  checkpointGraph(checkpoints).map(({ graph, checkpoint }) => `${graph} ${checkpoint?.checkpointId ?? ""}`.trimEnd());

describe("the drawn tree of checkpoints", () => {
  it("is a single line for a run without branches", () => {
    expect(
      graphOf([
        { checkpointId: "a", lane: 1 },
        { checkpointId: "b", lane: 1, parentId: "a" },
      ]),
    ).toEqual(["● a", "● b"]);
  });

  it("splits at the target of a rollback and ends the line that was left", () => {
    expect(
      graphOf([
        { checkpointId: "a", lane: 1 },
        { checkpointId: "b", lane: 1, parentId: "a" },
        { checkpointId: "c", lane: 1, parentId: "b" },
        { checkpointId: "d", lane: 2, parentId: "a" },
        { checkpointId: "e", lane: 2, parentId: "d" },
      ]),
    ).toEqual(["● a", "├─╮", "● │ b", "● │ c", "  ● d", "  ● e"]);
  });

  it("splits into branches and joins them", () => {
    expect(
      graphOf([
        { checkpointId: "a", lane: 1 },
        { checkpointId: "x", lane: 2, parentId: "a" },
        { checkpointId: "y", lane: 3, parentId: "a" },
        { checkpointId: "b", lane: 1, parentId: "a", otherParentIds: ["x", "y"] },
      ]),
    ).toEqual(["● a", "├─┬─╮", "│ ● │ x", "│ │ ● y", "├─┴─╯", "● b"]);
  });

  it("starts a new line after checkpoints that pruning removed", () => {
    expect(
      graphOf([
        { checkpointId: "a", lane: 1 },
        { checkpointId: "z", lane: 1, parentId: "gone" },
      ]),
    ).toEqual(["● a", "● z"]);
  });

  it("shows each checkpoint once, in order, with one dot per row", () => {
    const tree = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 3 }), fc.nat()), { maxLength: 30 }).map((steps) =>
      steps.map(([parent, lane, other], at): Drawn => ({
        checkpointId: `c${at}`,
        lane,
        ...(at > 0 && { parentId: `c${parent % at}` }),
        ...(at > 1 && other % 4 === 0 && { otherParentIds: [`c${other % at}`] }),
      })),
    );
    fc.assert(
      fc.property(tree, (checkpoints) => {
        const rows = checkpointGraph(checkpoints);
        expect(rows.flatMap(({ checkpoint }) => checkpoint ?? [])).toEqual(checkpoints);
        for (const { graph, checkpoint } of rows) expect(graph.split("●").length - 1).toBe(checkpoint ? 1 : 0);
      }),
    );
  });
});
