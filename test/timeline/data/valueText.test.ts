import { describe, expect, it } from "vitest";
import { valueText } from "../../../src/timeline/data/ShownTexts.ts";
import { inertJson } from "../../../src/timeline/pageHtml.ts";

describe("values as text", () => {
  it("what is short stands in one line, what is long in lines, and text as it is", () => {
    expect(valueText({ name: "Alex", "a-b": [1, null, true] })).toBe('{ name: "Alex", "a-b": [1, null, true] }');
    expect(valueText("two\nlines")).toBe("two\nlines");
    expect(valueText({ a: "x".repeat(70), b: [] })).toBe(`{\n  a: "${"x".repeat(70)}",\n  b: []\n}`);
    expect(valueText(undefined)).toBe("undefined");
  });

  it("many levels take no more than a few characters each", () => {
    let deep: unknown = "x".repeat(80);
    for (let level = 0; level < 200; level += 1) deep = [deep];
    expect(valueText(deep).length).toBeLessThan(30_000);
  });
});

describe("data in a page", () => {
  it("ends no script and begins no comment, and is the same when it is read", () => {
    const hostile = { text: "</script><!--<script>\u2028\u2029" };
    expect(inertJson(hostile)).not.toMatch(/[<\u2028\u2029]/);
    expect(JSON.parse(inertJson(hostile))).toEqual(hostile);
  });
});
