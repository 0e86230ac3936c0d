import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { comparisonPage, inertJson } from "../../src/timeline/timelinePage.ts";

const emptyRun = { version: 1, agentId: "a", runId: "r", status: "completed", input: 1, visits: [] } as const;

it("a page of two runs refuses the option of a timeline that limits its steps", async () => {
  const page = comparisonPage(emptyRun, emptyRun, { last: 1 } as object);
  await expect(page.next()).rejects.toThrow('Invalid options of a comparison: unknown option "last"');
});

describe("the data of a page", () => {
  it("has no invisible or reordering characters in values and keys", () => {
    const shown = JSON.parse(inertJson({ "a\u202e": "\x1b[31m \u2066b\u{e0041} \n \\u001b \x9b" })) as object;
    expect(shown).toEqual({ "a\\u{202e}": "\\x1b[31m \\u{2066}b\\u{e0041} \n \\u001b \\u{9b}" });
  });

  it("shows characters that make two names look the same, and keeps those that emoji and scripts need", () => {
    const names = ["sign\u200bUp", "sign\u2060Up", "\ufeffsignUp", "sign\u00adUp", "\u200fsignUp", "signUp\u{e0101}"];
    for (const name of names) expect(JSON.parse(inertJson(name))).toMatch(/\\u\{[0-9a-f]+\}/);
    for (const text of ["👩\u200d👩\u200d👧", "می\u200cخواهم", "❤\ufe0f"])
      expect(JSON.parse(inertJson(text))).toBe(text);
  });

  it("has a title without reordering characters and without markup", async () => {
    const run = { ...emptyRun, agentId: "a\u202e</title><b>" };
    let html = "";
    for await (const piece of comparisonPage(run, run)) html += piece;
    const [, title] = /<title>(.*)<\/title>/.exec(html) ?? [];
    expect(title).toMatch(/^a\\u\{202e\}&lt;\/title>&lt;b> ↔ a\\u\{202e\}&lt;/);
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
