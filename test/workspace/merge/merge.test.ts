import { describe, expect, it } from "vitest";
import fc from "fast-check";
import { mergeThreeWay } from "agent-persistence/workspace";
import { mergeInSteps } from "../../../src/workspace/merge/mergeThreeWay.ts";
import { GitMergeFile } from "./gitMergeFile.ts";
import { randomVersions } from "./randomVersions.ts";
import { longVersions, repeatedVersions } from "./repeatedVersions.ts";
import { cases } from "../../soak/cases.ts";

const runs = cases(30, 800);
const longCases = cases(3, 100);
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `line ${index}`);
const joined = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");
const text = (...lines: readonly string[]) => joined(lines);

describe("merge beside git merge-file", () => {
  it.each([
    ["ordinary files", randomVersions],
    ["files with repeated lines", repeatedVersions],
  ])("a merge has the result of git, in conflicts too: %s", async (_name, versionsOf) => {
    using git = new GitMergeFile();
    for (let seed = 1; seed <= runs; seed++) {
      const versions = versionsOf(seed);
      const { clean, text: merged } = await mergeThreeWay(versions.base, versions.ours, versions.theirs);
      const expected = git.merge(versions);
      expect({ seed, clean, merged }).toEqual({ seed, clean: expected.conflicts === 0, merged: expected.text });
    }
  });

  it("a merge of long files has the result of git, even where neither computes the shortest difference", async () => {
    using git = new GitMergeFile();
    for (let seed = 1; seed <= longCases; seed++) {
      const { base, ours, theirs } = longVersions(seed);
      const result = await mergeThreeWay(base, ours, theirs);
      const { conflicts, text: merged } = git.merge({ base, ours, theirs });
      expect(result.clean).toBe(conflicts === 0);
      expect(result.text === merged).toBe(true);
    }
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
    ["a repeated line that one side removes", text("a", "a", "d", "d"), text("a", "d"), text("a", "a", "d")],
    [
      "empty lines",
      text("\t@echo", "\t@echo", "", ""),
      text("\t@echo", "\t@echo", "", "", ""),
      text("\t@echo", "", "", ""),
    ],
    [
      "both change the middle in part alike",
      text("a", "b", "c", "d", "e"),
      text("a", "X", "c", "Y", "e"),
      text("a", "X", "k", "Y", "e"),
    ],
    ["one empties the file, the other one changes it", text(...lines), "", text("A", ...lines.slice(1))],
    ["a line break at the end on one side alone", "a\nb", "a\nb\n", "A\nb"],
    ["white space alone", text("a b", "c"), text("a  b", "c"), text("a b", "c ")],
  ];
  it.each(table)("a merge has the result of git: %s", async (_name, base, ours, theirs) => {
    using git = new GitMergeFile();
    const { conflicts, text: merged } = git.merge({ base, ours, theirs });
    const result = await mergeThreeWay(base, ours, theirs);
    expect({ clean: result.clean, text: result.text }).toEqual({ clean: conflicts === 0, text: merged });
  });
});

describe("merge", () => {
  it("a merge lists each conflict with its lines in all three versions", async () => {
    const result = await mergeThreeWay(
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

  it("a merge takes the only side that changed, whatever its content", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), async (base, changed) => {
        const expected = { clean: true, text: changed };
        expect(await mergeThreeWay(base, changed, base)).toEqual(expected);
        expect(await mergeThreeWay(base, base, changed)).toEqual(expected);
        expect(await mergeThreeWay(base, changed, changed)).toEqual(expected);
      }),
    );
  });

  it("a merge has the same result with its sides exchanged", async () => {
    const line = fc.constantFrom("a\n", "b\n", "c\n", "__proto__\n", "d\r\n", "\n");
    const file = fc.array(line, { maxLength: 12 }).map((lines) => lines.join(""));
    await fc.assert(
      fc.asyncProperty(file, file, file, async (base, ours, theirs) => {
        const result = await mergeThreeWay(base, ours, theirs);
        const mirrored = await mergeThreeWay(base, theirs, ours);
        expect(mirrored.clean).toBe(result.clean);
        if (result.clean) expect(mirrored).toEqual(result);
      }),
    );
  });

  it("a merge does not split binary content", async () => {
    expect(await mergeThreeWay("a\0", "b\0", "c\0")).toEqual({
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
  ])("a merge combines line endings when asked to: %s", async (_name, base, ours, theirs, merged) => {
    expect(await mergeThreeWay(base, ours, theirs, { lineEndings: "merge" })).toEqual({ clean: true, text: merged });
  });

  it("a merge keeps the merged line endings in a conflict", async () => {
    const result = await mergeThreeWay("a\nb\n", "a\r\nx\r\n", "a\ny\n", { lineEndings: "merge" });
    expect(result.text).toBe("a\r\n<<<<<<< OURS\r\nx\r\n=======\r\ny\r\n>>>>>>> THEIRS\r\n");
  });

  it("a merge lets other work of the process run in between, with the same result", async () => {
    const base = numbered(130_000);
    const ours = base.map((line, at) => (at % 100 === 10 ? `${line} ours` : line));
    const theirs = base.map((line, at) => (at % 100 === 60 ? `${line} theirs` : line));
    let turns = 0;
    const counted = setInterval(() => turns++, 0);
    const result = await mergeThreeWay(joined(base), joined(ours), joined(theirs));
    clearInterval(counted);
    const both = ours.map((line, at) => (at % 100 === 60 ? `${line} theirs` : line));
    expect(result).toEqual({ clean: true, text: joined(both) });
    expect(turns).toBeGreaterThan(0);
  });

  it("a merge is cut into steps that are short, whatever the files", () => {
    const alike = Array.from({ length: 20_000 }, () => "same");
    const files: readonly (readonly string[])[] = [
      [alike, alike.slice(300), ["x", ...alike.slice(100)]].map(joined),
      [numbered(20_000), numbered(20_000).toReversed(), numbered(20_000).map((line) => `${line}!`)].map(joined),
    ];
    for (const [base = "", ours = "", theirs = ""] of files) {
      const steps = mergeInSteps({ base, ours, theirs }, { ours: "OURS", theirs: "THEIRS" });
      expect([...steps].length).toBeGreaterThan(20);
    }
  });

  it("a merge of files whose lines are all equal has the result of git", async () => {
    using git = new GitMergeFile();
    const alike = Array.from({ length: 4_000 }, () => "same");
    const [base, ours, theirs] = [text(...alike), text(...alike.with(100, "ours")), text(...alike, "theirs")];
    const { text: merged } = git.merge({ base, ours, theirs });
    expect(await mergeThreeWay(base, ours, theirs)).toEqual({ clean: true, text: merged });
  });
});
