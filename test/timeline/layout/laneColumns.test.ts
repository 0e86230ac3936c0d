import { describe, expect, it } from "vitest";
import type { TimelineItem, TimelineStep } from "../../../src/timeline/data/TimelineData.ts";
import { laneColumns } from "../../../src/timeline/layout/laneColumns.ts";
import { timelineRows } from "../../../src/timeline/layout/timelineRows.ts";
import { itemsOf, stepOf } from "../steps.ts";

/** The column of each row, and the edges as `from>to:column`. */
function drawn(items: readonly TimelineItem[], head?: string) {
  const { columns, edges, width } = laneColumns(timelineRows(items), head);
  return {
    columns,
    width,
    edges: edges.map(({ kind, from, to, column }) => `${kind} ${from.row}>${to.row}:${column}`),
  };
}

describe("the graph of a timeline", () => {
  it("the path to the head is a straight line, with abandoned steps at its side", () => {
    const items = itemsOf("a", "b<a", "c<b!", "d<c!", "e<b");
    expect(drawn(items, "e")).toEqual({
      columns: [0, 0, 1, 1, 0],
      width: 2,
      edges: ["line 0>1:0", "line 1>4:0", "line 1>2:1", "line 2>3:1"],
    });
  });

  it("overlapping branches have separate columns, which are reused when free", () => {
    const items = itemsOf("a", "x<a", "y<a", "b<a", "z<b", "c<b");
    expect(drawn(items, "c").columns).toEqual([0, 1, 2, 0, 1, 0]);
  });

  it("a rollback is an edge from its step to its target in a separate column", () => {
    const [a, b, c, e] = itemsOf("a", "b<a!", "c<b!", "e<a");
    const rollback = {
      kind: "rollback",
      key: "r",
      target: "a",
      from: "c",
      finished: true,
      calls: [],
      records: [],
    } as const;
    const { edges, columns } = drawn([a, b, c, rollback, e] as TimelineItem[], "e");
    expect(columns).toEqual([0, 1, 1, 1, 0]);
    expect(edges).toContain("back 0>3:2");
  });

  it("joined branches connect to the step that joins them", () => {
    const [a, x, b] = itemsOf("a", "x<a", "b<a");
    const joining = { ...(b as TimelineStep), joins: ["x"] };
    expect(drawn([a, x, joining] as TimelineItem[], "b").edges).toContain("line 1>2:1");
  });

  it("steps after the head continue straight", () => {
    const items = [...itemsOf("a", "b<a"), stepOf("c<b", { open: "running" })];
    expect(drawn(items, "b").columns).toEqual([0, 0, 0]);
  });

  it("missing, later or circular parents do not stop the drawing", () => {
    const items = [stepOf("a<z"), stepOf("b<c"), stepOf("c<b"), stepOf("d<d")];
    expect(drawn(items, "d").columns).toHaveLength(4);
  });

  it("ten thousand branches are placed in linear time", () => {
    const items = itemsOf("a", ...Array.from({ length: 10_000 }, (_, index) => `b${index}<a`));
    expect(drawn(items, "a").columns).toHaveLength(10_001);
  });
});
