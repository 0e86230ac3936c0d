import { describe, expect, it } from "vitest";
import { durationText } from "../../../src/timeline/layout/durations.ts";
import { RowOffsets, timelineRows } from "../../../src/timeline/layout/timelineRows.ts";
import { stepOf } from "../steps.ts";

function kindsAt(...times: readonly number[]): readonly string[] {
  const rows = timelineRows(times.map((at, index) => stepOf(`s${index}`, { at })));
  return rows.map((row) => (row.kind === "gap" ? durationText(row.milliseconds) : row.item.key));
}

describe("the rows of a timeline", () => {
  it("an unusually long pause becomes a row", () => {
    expect(kindsAt(0, 1_000, 2_000, 8_042_000)).toEqual(["s0", "s1", "s2", "2 h 14 min", "s3"]);
  });

  it("regular gaps of minutes and a clock set back create no pause", () => {
    expect(kindsAt(0, 300_000, 600_000, 900_000)).toEqual(["s0", "s1", "s2", "s3"]);
    expect(kindsAt(5_000, 0, 5_500)).toEqual(["s0", "s1", "s2"]);
  });
});

describe("row positions", () => {
  const offsets = new RowOffsets([10, 30, 20, 40]);

  it("a height maps to its row, and a height outside to the nearest", () => {
    expect([-5, 0, 9, 10, 39, 40, 60, 1_000].map((y) => offsets.rowAt(y))).toEqual([0, 0, 0, 1, 1, 2, 3, 3]);
  });

  it("a window contains its rows and a margin of available rows", () => {
    expect(offsets.within(12, 10, 1)).toEqual([0, 2]);
    expect(new RowOffsets([]).total).toBe(0);
  });
});

describe("durations", () => {
  it("show their two largest units", () => {
    const texts = [0, 999, 1_000, 61_000, 3_600_000, 90_000_000].map(durationText);
    expect(texts).toEqual(["0 ms", "999 ms", "1 s", "1 min 1 s", "1 h", "1 d 1 h"]);
  });
});
