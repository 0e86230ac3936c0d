import { describe, expect, it } from "vitest";
import fc from "fast-check";
import { mergeThreeWay } from "agent-persistence/workspace";
import { GitMergeFile } from "./gitMergeFile.ts";
import { randomVersions } from "./randomVersions.ts";

const cases = process.env["SOAK"] === "1" ? 1_000 : 100;
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `line ${index}`);
const joined = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");
const text = (...lines: readonly string[]) => joined(lines);

describe("merge beside git merge-file", () => {
  it("a merge is never clean where git conflicts or has another text, and rarely conflicts where git is clean", () => {
    using git = new GitMergeFile();
    const found = { agreed: 0, otherEdges: 0, oursOnly: 0 };
    for (let seed = 1; seed <= cases; seed++) {
      const { base, ours, theirs } = randomVersions(seed);
      const result = mergeThreeWay(base, ours, theirs);
      const { conflicts, text: merged } = git.merge({ base, ours, theirs });
      expect({ seed, clean: result.clean && conflicts > 0 }).toEqual({ seed, clean: false });
      if (result.clean) expect({ seed, text: result.text }).toEqual({ seed, text: merged });
      if (result.text === merged) found.agreed++;
      else if (conflicts > 0) found.otherEdges++;
      else found.oursOnly++;
    }
    expect(found.agreed).toBeGreaterThan(cases * 0.85);
    expect(found.otherEdges).toBeLessThan(cases * 0.12);
    expect(found.oursOnly).toBeLessThan(cases * 0.06);
  });

  const lines = ["a", "b", "c", "d", "e", "f", "g"];
  const table: readonly (readonly [string, string, string, string])[] = [
    ["both change the same line alike", text("a", "b"), text("a", "x"), text("a", "x")],
    ["both change the same line", text("a", "b"), text("a", "x"), text("a", "y")],
    ["neighbouring lines", text(...lines), text("A", ...lines.slice(1)), text("a", "B", ...lines.slice(2))],
    ["lines apart", text(...lines), text("A", ...lines.slice(1)), text(...lines.slice(0, 6), "G")],
    [
      "one deletes what the other changes",
      text(...lines),
      text("a", "c", "d"),
      text("a", "B", "c", "d", "e", "f", "g"),
    ],
    ["both add at one place", text("a"), text("a", "x"), text("a", "y")],
    ["both create", "", text("x", "same"), text("y", "same")],
    ["one empties", text("a"), "", text("a", "b")],
    ["no line break at the end of one", text("a", "b", "c"), "a\nb\nc", text("A", "b", "c")],
    ["no line break at the end, in conflict", "a\nb", "a\nx", "a\ny"],
    ["windows line endings", "a\r\nb\r\nc\r\n", "a\r\nx\r\nc\r\n", "a\r\ny\r\nc\r\n"],
    ["line endings changed on one side", "a\nb\nc\n", "a\r\nb\r\nc\r\n", "a\nb\nC\n"],
    ["mixed line endings", "a\r\nb\nc\r\nd\ne\n", "A\r\nb\nc\r\nd\ne\n", "a\r\nb\nc\r\nd\nE\n"],
    ["a byte-order mark", "\u{feff}a\nb\nc\n", "\u{feff}a\nb\nC\n", "\u{feff}A\nb\nc\n"],
    ["a byte-order mark added", "a\nb\nc\n", "\u{feff}a\nb\nc\n", "a\nb\nC\n"],
    [
      "names of properties",
      text("__proto__", "constructor", "x"),
      text("toString", "constructor", "x"),
      text("__proto__", "constructor", "y"),
    ],
    [
      "markers in the text",
      text("<<<<<<< OURS", "=======", "a", ">>>>>>> THEIRS"),
      text("<<<<<<< OURS", "=======", "b", ">>>>>>> THEIRS"),
      text("<<<<<<< OURS", "=======", "c", ">>>>>>> THEIRS"),
    ],
    ["white space alone", text("a b", "c"), text("a  b", "c"), text("a b", "c ")],
  ];
  it.each(table)("a merge has the result of git: %s", (_name, base, ours, theirs) => {
    using git = new GitMergeFile();
    const { conflicts, text: merged } = git.merge({ base, ours, theirs });
    const result = mergeThreeWay(base, ours, theirs);
    expect({ clean: result.clean, text: result.text }).toEqual({ clean: conflicts === 0, text: merged });
  });
});

describe("merge", () => {
  it("a merge lists each conflict with its lines in all three versions", () => {
    const result = mergeThreeWay(
      text("a", "b", "c", "d"),
      text("new", "a", "x", "c", "d"),
      text("a", "y1", "y2", "c"),
      {
        labels: { ours: "agent", theirs: "Ann" },
      },
    );
    expect(result).toEqual({
      clean: false,
      binary: false,
      text: text("new", "a", "<<<<<<< agent", "x", "=======", "y1", "y2", ">>>>>>> Ann", "c"),
      regions: [
        { base: { line: 2, text: "b\n" }, ours: { line: 3, text: "x\n" }, theirs: { line: 2, text: "y1\ny2\n" } },
      ],
    });
  });

  it("a merge takes the only side that changed, whatever its content", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (base, changed) => {
        const expected = { clean: true, text: changed };
        expect(mergeThreeWay(base, changed, base)).toEqual(expected);
        expect(mergeThreeWay(base, base, changed)).toEqual(expected);
        expect(mergeThreeWay(base, changed, changed)).toEqual(expected);
      }),
    );
  });

  it("a merge has the same result with its sides exchanged", () => {
    const line = fc.constantFrom("a\n", "b\n", "c\n", "__proto__\n", "d\r\n", "\n");
    const file = fc.array(line, { maxLength: 12 }).map((lines) => lines.join(""));
    fc.assert(
      fc.property(file, file, file, (base, ours, theirs) => {
        const result = mergeThreeWay(base, ours, theirs);
        const mirrored = mergeThreeWay(base, theirs, ours);
        expect(mirrored.clean).toBe(result.clean);
        if (result.clean) expect(mirrored).toEqual(result);
      }),
    );
  });

  it("a merge does not split binary content", () => {
    expect(mergeThreeWay("a\0", "b\0", "c\0")).toEqual({
      clean: false,
      binary: true,
      text: "b\0",
      regions: [{ base: { line: 1, text: "a\0" }, ours: { line: 1, text: "b\0" }, theirs: { line: 1, text: "c\0" } }],
    });
  });

  it.each([
    ["ours has others", "a\nb\nc\n", "A\r\nb\r\nc\r\n", "a\nb\nC\n", "A\r\nb\r\nC\r\n"],
    ["theirs has others", "a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\nb\nC\n", "A\nb\nC\n"],
    ["base is empty", "", "a\nx\n", "a\r\nx\r\n", "a\nx\n"],
    ["mixed ones stay", "a\r\nb\nc\nd\n", "A\r\nb\nc\nd\n", "a\r\nb\nc\nD\n", "A\r\nb\nc\nD\n"],
  ])("a merge combines line endings when asked to: %s", (_name, base, ours, theirs, merged) => {
    expect(mergeThreeWay(base, ours, theirs, { lineEndings: "merge" })).toEqual({ clean: true, text: merged });
  });

  it("a merge keeps the merged line endings in a conflict", () => {
    const result = mergeThreeWay("a\nb\n", "a\r\nx\r\n", "a\ny\n", { lineEndings: "merge" });
    expect(result.text).toBe("a\r\n<<<<<<< OURS\r\nx\r\n=======\r\ny\r\n>>>>>>> THEIRS\r\n");
  });

  it("a merge makes a gap that is too long one conflict, and merges the rest", () => {
    const block = (word: string) => Array.from({ length: 600 }, (_, index) => `${word} ${index % 7}`);
    const base = ["first", ...block("base"), "last"];
    const result = mergeThreeWay(
      text(...base),
      text("First", ...block("ours"), "last"),
      text("first", ...block("theirs"), "Last"),
    );
    expect(result).toMatchObject({ clean: false, regions: [{ base: { line: 1 } }] });
    const apart = ["head", "between", ...base, "tail"];
    const other = mergeThreeWay(text(...apart), text("Head", ...apart.slice(1)), text(...apart.slice(0, -1), "Tail"));
    expect(other).toEqual({ clean: true, text: text("Head", ...apart.slice(1, -1), "Tail") });
  });

  it("a merge cuts long files at lines that occur once, however many there are", () => {
    const base = numbered(130_000);
    const ours = base.with(10, "ours");
    const theirs = base.with(129_990, "theirs");
    expect(mergeThreeWay(joined(base), joined(ours), joined(theirs))).toEqual({
      clean: true,
      text: joined(ours.with(129_990, "theirs")),
    });
  });

  it("a merge of files whose lines are all alike makes one conflict", () => {
    const alike = Array.from({ length: 4_000 }, () => "same");
    const result = mergeThreeWay(text(...alike), text(...alike.with(100, "ours")), text(...alike, "theirs"));
    expect(result).toMatchObject({ clean: false, regions: [{ base: { line: 101 } }] });
  });
});
