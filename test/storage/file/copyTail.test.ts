import { expect, it } from "vitest";
import { segmentsToCarry } from "../../../src/storage/file/copyTail.ts";

const kilobyte = 1024;
const carried = (sizes: readonly number[], carry = 1) =>
  segmentsToCarry({
    from: 0,
    base: sizes.map((size, index) => [index + 1, size * kilobyte]),
    carry: [Buffer.alloc(carry * kilobyte)],
  }).map(([generation]) => generation);

it.each([
  ["no segments if none exist", [], []],
  ["a small segment", [64], [1]],
  ["no larger segment", [65], []],
  ["small segments without the large one before", [500, 20, 30], [2, 3]],
  ["two segments of equal size", [100, 100], [1, 2]],
  ["no segments of halving sizes", [400, 200, 100], []],
  ["all segments if the oldest is relatively small", [300, 200, 100], [1, 2, 3]],
  ["at most a megabyte of a short log", [600, 300, 300], [2, 3]],
  ["more of a long log", [80_000, 600, 300, 300], [2, 3, 4]],
])("copies %s", (_name, sizes, expected) => {
  expect(carried(sizes)).toEqual(expected);
});

it("a long log has a few hundred segments, copies little at once and each byte a few times", () => {
  let base: readonly (readonly [number, number])[] = [];
  let copied = 0;
  let longest = 0;
  const runs = 5000;
  for (let run = 1; run <= runs; run++) {
    const whole = segmentsToCarry({ from: 0, base, carry: [] });
    const bytes = whole.reduce((total, [, length]) => total + length, 0);
    expect(bytes).toBeLessThanOrEqual(Math.max(1024, (run * 100) / 64) * kilobyte);
    copied += bytes;
    base = [...base.slice(0, base.length - whole.length), [run, bytes + 100 * kilobyte]];
    longest = Math.max(longest, base.length);
  }
  expect(longest).toBeLessThan(400);
  expect(copied / (runs * 100 * kilobyte)).toBeLessThan(7);
});
