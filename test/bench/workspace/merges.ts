import { mergeThreeWay } from "agent-persistence/workspace";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { median } from "../measure/statistics.ts";

/** Medians in milliseconds. */
export interface MergeFigures {
  /** 10,000 lines of this library, each side with 1 % of them edited. */
  readonly realMs: number;
  /** 4,000 lines that are all alike, each side with one edited. */
  readonly alikeMs: number;
  /** 100,000 lines, each side with 1 % of them edited. */
  readonly largeMs: number;
  /** The same with `git merge-file`. */
  readonly largeGitMs: number;
  /** The longest time that the merge of 100,000 lines held the event loop. */
  readonly longestHoldMs: number;
}

type Texts = readonly [base: string, ours: string, theirs: string];

const rounds = 9;

export async function merges(): Promise<MergeFigures> {
  const code = linesOfCode(10_000);
  const alike = Array.from({ length: 4_000 }, () => "same");
  const many = Array.from({ length: 10 }, (_, part) => code.map((line) => `${line}${" ".repeat(part)}`)).flat();
  const large = joined(many, edited(many, 50, "ours"), edited(many, 99, "theirs"));
  return {
    realMs: await medianMs(joined(code, edited(code, 50, "ours"), edited(code, 99, "theirs"))),
    alikeMs: await medianMs(joined(alike, alike.with(1_000, "ours"), alike.with(3_000, "theirs"))),
    largeMs: await medianMs(large),
    largeGitMs: gitMedianMs(large),
    longestHoldMs: await longestHoldMs(large),
  };
}

function joined(...versions: readonly [readonly string[], readonly string[], readonly string[]]): Texts {
  const [base, ours, theirs] = versions;
  return [base.join("\n"), ours.join("\n"), theirs.join("\n")];
}

async function medianMs([base, ours, theirs]: Texts): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    await mergeThreeWay(base, ours, theirs);
    times.push(performance.now() - start);
  }
  return median(times);
}

function gitMedianMs(texts: Texts): number {
  const folder = mkdtempSync(join(tmpdir(), "bench-merge-"));
  for (const [at, name] of ["base", "ours", "theirs"].entries()) writeFileSync(join(folder, name), texts[at] ?? "");
  const times = Array.from({ length: rounds }, () => {
    const start = performance.now();
    spawnSync("git", ["merge-file", "-p", "ours", "base", "theirs"], { cwd: folder, maxBuffer: 2 ** 27 });
    return performance.now() - start;
  });
  rmSync(folder, { recursive: true });
  return median(times);
}

async function longestHoldMs([base, ours, theirs]: Texts): Promise<number> {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  await new Promise((resolve) => setTimeout(resolve, 10));
  delays.reset();
  await mergeThreeWay(base, ours, theirs);
  await new Promise((resolve) => setTimeout(resolve, 10));
  delays.disable();
  return delays.max / 1e6;
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
