import { seededNumbers } from "../../../src/testing/powerLoss/RecordedTree.ts";
import type { MergeVersions } from "../../../src/workspace/merge/MergeResult.ts";

/** Draws numbers below a limit. */
type Draw = (limit: number) => number;

const pick = (draw: Draw, words: readonly string[]): string => words[draw(words.length)] ?? "";

/** Files in which many lines are alike. Each gives some lines of a file of its kind. */
const kinds: readonly ((draw: Draw) => readonly string[])[] = [
  // JSON
  (draw) => ["  {", `    "name": "${pick(draw, ["a", "b", "c"])}",`, '    "on": true', "  },"],
  // CSV
  (draw) => [`${draw(4)},${pick(draw, ["x", "y"])},0`],
  // a Makefile
  (draw) => [
    `${pick(draw, ["all", "test", "lint"])}:`,
    "\t@echo",
    ...(draw(2) ? ["\t@echo"] : []),
    "",
    ...(draw(3) ? [] : [""]),
  ],
  // tests
  (draw) => [`  it("${pick(draw, ["adds", "fails"])}", () => {`, "    expect(run()).toBe(true);", "  });", ""],
  // generated code
  (draw) => ["case:", `  return ${draw(3)};`, "break;"],
  // four letters
  (draw) => [pick(draw, ["a", "b", "c", "d"])],
  // two letters and empty lines
  (draw) => [pick(draw, ["a", "b", "", ""])],
];

const linesOf = (draw: Draw, kind: number, count: number): string[] =>
  Array.from({ length: count }, () => kinds[kind]?.(draw) ?? []).flat();

/** Removes, adds, repeats or moves some lines. */
function edit(draw: Draw, kind: number, lines: string[]): void {
  const at = draw(lines.length + 1);
  const count = draw(4);
  const what = draw(4);
  if (what === 0) lines.splice(at, count);
  else if (what === 1) lines.splice(at, draw(2), ...linesOf(draw, kind, 1 + draw(2)));
  else if (what === 2) lines.splice(at, 0, ...lines.slice(at, at + count));
  else lines.splice(draw(lines.length + 1), 0, ...lines.splice(at, count));
}

/** A file with repeated lines and two changed versions of it, short in most cases. Every fiftieth is long. */
export function repeatedVersions(seed: number): MergeVersions<string> {
  const random = seededNumbers(seed);
  const draw: Draw = (limit) => Math.floor(random() * limit);
  const kind = seed % kinds.length;
  const base = linesOf(draw, kind, seed % 50 === 0 ? 300 + draw(700) : 1 + draw(12));
  const changed = (): string[] => {
    const lines = [...base];
    for (let edits = 1 + draw(seed % 50 === 0 ? 60 : 4); edits > 0; edits--) edit(draw, kind, lines);
    return lines;
  };
  const ending = seed % 11 === 0 ? "\r\n" : "\n";
  const text = (lines: readonly string[]): string => lines.join(ending) + (draw(10) === 0 ? "" : ending);
  return { base: text(base), ours: text(changed()), theirs: text(changed()) };
}

/** Some thousand lines of two kinds with many edits: too many to look for the shortest way between them. */
export function longVersions(seed: number): MergeVersions<string> {
  const random = seededNumbers(seed);
  const draw: Draw = (limit) => Math.floor(random() * limit);
  const line = (): string => (draw(2) === 0 ? `${pick(draw, ["}", "", "return;"])}` : `line ${draw(4_000)}`);
  const base = Array.from({ length: 3_000 + draw(5_000) }, line);
  const changed = (): string => {
    const lines = [...base];
    for (let edits = draw(1_500); edits > 0; edits--)
      lines.splice(draw(lines.length + 1), draw(4), ...Array.from({ length: draw(4) }, line));
    return lines.map((each) => `${each}\n`).join("");
  };
  return { base: base.map((each) => `${each}\n`).join(""), ours: changed(), theirs: changed() };
}
