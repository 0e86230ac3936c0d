import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { inertJson } from "../../src/timeline/timelinePage.ts";

describe("the data of a page", () => {
  it("has no invisible or reordering characters in values and keys", () => {
    const shown = JSON.parse(inertJson({ "a\u202e": "\x1b[31m \u2066b\u{e0041} \n \\u001b \x9b" })) as object;
    expect(shown).toEqual({ "a\\u{202e}": "\\x1b[31m \\u{2066}b\\u{e0041} \n \\u001b \\u{9b}" });
  });

  it("parses to the same data for other text and never ends its script", () => {
    const text = fc.string({ unit: "grapheme" });
    fc.assert(
      fc.property(text, text, (key, value) => {
        const json = inertJson({ [`k${key}`]: `</script>\u2028${value}` });
        expect(json).not.toMatch(/[<\u2028]/);
        expect(JSON.parse(json)).toEqual({ [`k${key}`]: `</script>\u2028${value}` });
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (value) => {
        expect(JSON.parse(inertJson(value))).not.toMatch(/(?![\b\f\n\r\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
      }),
    );
  });
});
