import { describe, expect, it } from "vitest";
import { valueText } from "../../../src/timeline/data/ShownTexts.ts";
import { inertJson } from "../../../src/timeline/timelinePage.ts";

describe("values as text", () => {
  it("a short value fits one line, a long one several, and text is unchanged", () => {
    expect(valueText({ name: "Alex", "a-b": [1, null, true] })).toBe('{ name: "Alex", "a-b": [1, null, true] }');
    expect(valueText("two\nlines")).toBe("two\nlines");
    expect(valueText({ a: "x".repeat(70), b: [] })).toBe(`{\n  a: "${"x".repeat(70)}",\n  b: []\n}`);
    expect(valueText(undefined)).toBe("undefined");
  });

  it("each nesting level adds only a few characters", () => {
    let deep: unknown = "x".repeat(80);
    for (let level = 0; level < 200; level += 1) deep = [deep];
    expect(valueText(deep).length).toBeLessThan(30_000);
  });
});

describe("data in a page", () => {
  it("ends no script, starts no comment, and parses to the same value", () => {
    const hostile = { text: "</script><!--<script>\u2028\u2029" };
    expect(inertJson(hostile)).not.toMatch(/[<\u2028\u2029]/);
    expect(JSON.parse(inertJson(hostile))).toEqual(hostile);
  });
});
