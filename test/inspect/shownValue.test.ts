import { describe, expect, it } from "vitest";
import { shownValue } from "../../src/inspect/log/ValueLoader.ts";

describe("a shown value", () => {
  it("is JSON for any value", () => {
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    const values = [
      new Date(0),
      new Date(NaN),
      10n,
      NaN,
      undefined,
      new Map([[1, new Set([2])]]),
      new Uint8Array(3),
      /x/g,
    ];
    expect(shownValue(values, Infinity)).toEqual({
      value: ["1970-01-01T00:00:00.000Z", "Invalid Date", "10", "NaN", null, [[1, [2]]], { $bytes: 3 }, "/x/g"],
    });
    expect(shownValue(new RangeError("no"), Infinity)).toEqual({ value: { name: "RangeError", message: "no" } });
    expect(JSON.stringify(shownValue(cyclic, Infinity))).toContain("deeper levels");
  });

  it("is truncated and marked if it exceeds the allowed characters or items", () => {
    expect(shownValue("abcdef", 4)).toEqual({ value: "abc… (3 more characters)", cut: true });
    expect(shownValue([1, 2, 3, 4], 3)).toEqual({ value: [1, 2, "… (2 more items)"], cut: true });
    expect(shownValue({ a: 1, b: 2 }, 3)).toEqual({ value: { a: 1, "…": "… (1 more fields)" }, cut: true });
    expect(shownValue("abc", 4)).toEqual({ value: "abc" });
  });
});
