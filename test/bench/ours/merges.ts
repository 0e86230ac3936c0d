import { mergeThreeWay } from "agent-persistence/workspace";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { median } from "../statistics.ts";

/** Medians in milliseconds. */
export interface MergeFigures {
  /** 10,000 lines of this library, each side with 1 % of them edited. */
  readonly realMs: number;
  /** 4,000 lines that are all alike, each side with one edited. */
  readonly alikeMs: number;
}

const rounds = 9;

export function merges(): MergeFigures {
  const code = linesOfCode(10_000);
  const alike = Array.from({ length: 4_000 }, () => "same");
  return {
    realMs: medianMs(code, edited(code, 50, "ours"), edited(code, 99, "theirs")),
    alikeMs: medianMs(alike, alike.with(1_000, "ours"), alike.with(3_000, "theirs")),
  };
}

function medianMs(base: readonly string[], ours: readonly string[], theirs: readonly string[]): number {
  const [b, o, t] = [base.join("\n"), ours.join("\n"), theirs.join("\n")] as const;
  const times = Array.from({ length: rounds }, () => {
    const start = performance.now();
    mergeThreeWay(b, o, t);
    return performance.now() - start;
  });
  return median(times);
}

/** Every hundredth line changed, beginning at one of the first hundred. */
function edited(lines: readonly string[], first: number, side: string): string[] {
  return lines.map((line, at) => (at % 100 === first ? `${line} // ${side}` : line));
}

function linesOfCode(count: number): string[] {
  const source = fileURLToPath(new URL("../../../src/", import.meta.url));
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
  return files
    .toSorted()
    .flatMap((path) => readFileSync(join(source, path), "utf8").split("\n"))
    .slice(0, count);
}
