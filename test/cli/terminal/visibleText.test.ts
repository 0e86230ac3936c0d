import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonText, visibleJson, visibleLines, visibleText } from "../../../src/cli/terminal/visibleText.ts";

const text = fc.string({ unit: "binary" });
const obeyed = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\u{e0001}-\u{e007f}]/u;

describe("text of a log on a terminal", () => {
  it("escapes control characters and leaves other text unchanged", () => {
    expect(visibleText("a\x1b[31mred\x07\u202eevil\n\t\x9b0m")).toBe("a\\x1b[31mred\\x07\\u{202e}evil\\n\\t\\x9b0m");
    expect(visibleText("Grüße, 世界, 👩‍👩‍👧, \ud83d")).toBe("Grüße, 世界, 👩‍👩‍👧, \\u{d83d}");
    expect(visibleText("7\u3164 a\u034fb ✅\ufe0f \ufe00")).toBe("7\\u{3164} a\\u{34f}b ✅\ufe0f \\u{fe00}");
    expect(visibleLines("one\r\n\ttwo\rthree")).toBe("one\n    two\\rthree");
  });

  it("contains no control characters after it is escaped", () => {
    fc.assert(fc.property(text, (given) => !obeyed.test(visibleText(given))));
    fc.assert(fc.property(text, (given) => !obeyed.test(visibleLines(given).replaceAll("\n", ""))));
  });

  it("parses to the same value after its JSON is escaped", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), text, (value, key) => {
        const json = JSON.stringify({ value, [`k${key}`]: key }, undefined, 2);
        const shown = visibleJson(json);
        expect(JSON.parse(shown)).toEqual(JSON.parse(json));
        expect(obeyed.test(shown.replaceAll("\n", ""))).toBe(false);
      }),
    );
  });

  it("is valid JSON even for values that JSON cannot express", () => {
    const value = { at: new Date(0), big: 7n, map: new Map([["a", 1]]), set: new Set([1]), bytes: new Uint8Array([1]) };
    expect(JSON.parse(jsonText(value))).toEqual({
      at: "1970-01-01T00:00:00.000Z",
      big: "7",
      map: [["a", 1]],
      set: [1],
      bytes: "AQ==",
    });
    expect(JSON.parse(jsonText(new RangeError("far")))).toEqual({ name: "RangeError", message: "far" });
  });
});
