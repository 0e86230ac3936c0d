import fc from "fast-check";
import textWidth from "fast-string-truncated-width";
import { describe, expect, it } from "vitest";
import { bytesText, shortValue, relativeTime } from "../../../src/cli/terminal/shortTexts.ts";
import { textTable } from "../../../src/cli/terminal/textTable.ts";

const cells = (...texts: string[]) => texts.map((text) => [{ text, write: String }]);

describe("a table", () => {
  it("is aligned, including wide characters", () => {
    expect(textTable(cells("ID", "NAME"), [cells("1", "世界"), cells("22", "b")])).toBe("ID  NAME\n1   世界\n22  b");
  });

  it("fits the terminal by truncating the widest column", () => {
    const rows = [cells("agent-with-a-long-name", "waiting", "a very long reason ".repeat(20))];
    const lines = textTable(cells("AGENT", "STATUS", "WHY"), rows, 60).split("\n");
    expect(lines.map((line) => textWidth(line).width).filter((width) => width > 60)).toEqual([]);
    expect(lines[1]).toMatch(/^agent-with-a-long-name {2}waiting {2}a very.*…$/);
  });

  it("truncates a long id without a terminal and keeps the last column whole", () => {
    const [why, rows] = ["reason ".repeat(20).trim(), [cells("a".repeat(200), "waiting"), cells("b", "")]];
    const lines = textTable(cells("AGENT", "WHY"), [cells("a".repeat(200), why), ...rows]).split("\n");
    expect(lines[1]).toBe(`${"a".repeat(59)}…  ${why}`);
  });

  it("truncates headings before the cells below them", () => {
    const table = textTable(cells("AGENT", "CHECKPOINTS", "WHY"), [cells("order-17", "4", "waits for a person")], 33);
    expect(table).toBe("AGENT     CH…  WHY\norder-17  4    waits for a person");
  });

  it("truncates styled text within its style, at any position in the cell", () => {
    const cell = [
      { text: "abc", write: (text: string) => `<${text}>` },
      { text: "d".repeat(40), write: (text: string) => `(${text})` },
    ];
    expect(textTable(cells("A"), [[cell]], 10)).toBe(`A\n<abc>(${"d".repeat(6)})(…)`);
    expect(textTable(cells("A"), [[cell]], 4)).toBe(`A\n<abc>(${"d".repeat(4)})(…)`);
  });

  it("handles megabytes of wide characters, in a pipe and on a terminal", () => {
    const rows = Array.from({ length: 20 }, () => cells("a", `✅ ${"<p>世".repeat(1_000_000)}`));
    for (const columns of [undefined, 80]) {
      const lines = textTable(cells("ID", "WHY"), rows, columns).split("\n");
      expect(new Set(lines.slice(1)).size).toBe(1);
      expect(textWidth(lines[1] ?? "").width).toBeLessThanOrEqual(columns ?? 2_010);
    }
  });

  it("has one line per row", () => {
    const rows = Array.from({ length: 130_000 }, (_row, at) => cells(String(at), "x"));
    expect(textTable(cells("ID", "WHY"), rows, 80).split("\n")).toHaveLength(130_001);
  });

  it("cuts emoji after wide characters to the width of their column", () => {
    const rows = [cells("𖿢...𖿠...⺀", "", ""), cells("", ".⺀가.⭐🈂㉿🏠.", "....🈀.𖿢⏩")];
    for (const line of textTable(cells("A", "B", "C"), rows, 40).split("\n"))
      expect(textWidth(line).width).toBeLessThanOrEqual(40);
  });

  it("fits the requested width for any content", () => {
    const row = fc.array(fc.string({ maxLength: 40, unit: "grapheme" }), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 5 }), fc.integer({ min: 40, max: 120 }), (rows, columns) => {
        const shown = rows.map((each) => cells(...each.map((text) => text.replace(/\s/g, "."))));
        for (const line of textTable(cells("A", "B", "C"), shown, columns).split("\n"))
          expect(textWidth(line).width).toBeLessThanOrEqual(columns);
      }),
    );
  });
});

describe("readable values", () => {
  it.each([
    ["2026-01-01T00:00:00.000Z", "now"],
    ["2025-12-31T23:59:15.000Z", "45 sec. ago"],
    ["2025-12-31T22:00:00.000Z", "2 hr. ago"],
    ["2025-12-31T00:00:00.000Z", "yesterday"],
    ["2025-12-29T12:00:00.000Z", "2 days ago"],
    ["2026-01-01T00:05:59.000Z", "in 5 min."],
    ["2026-01-02T00:00:00.000Z", "tomorrow"],
    ["2026-01-04T00:00:00.000Z", "in 3 days"],
    ["2025-03-01T00:00:00.000Z", "2025-03-01"],
    ["no time", "no time"],
  ])("show %s: %s", (time, said) => {
    expect(relativeTime(time, Date.parse("2026-01-01T00:00:00.000Z"))).toBe(said);
  });

  it("show sizes in a suitable unit", () => {
    expect([0, 999, 1_200, 5_000_000].map(bytesText)).toEqual(["0 bytes", "999 bytes", "1.2 KB", "5.0 MB"]);
  });

  it("truncate a long value and show values that JSON cannot express", () => {
    expect(shortValue("x".repeat(5_000_000), 10)).toBe("xxxxxxxxxx… (5,000,000 characters)");
    const deep: unknown[] = [];
    let inner = deep;
    for (let level = 0; level < 100_000; level++) inner.push((inner = []));
    expect(shortValue(deep)).toMatch(/^\(cannot be shown: /);
    expect(shortValue(undefined)).toBe("–");
  });
});
