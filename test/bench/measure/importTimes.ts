import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { median } from "./statistics.ts";

/** Medians of the time that a fresh process needs to import the root, and to import zod, which the root imports too. */
export interface ImportFigures {
  readonly rootMs: number;
  readonly zodMs: number;
}

const processes = 15;

/** The two take turns, so that both see the same machine. */
export function importTimes(): ImportFigures {
  const pairs = Array.from({ length: processes }, () => ({
    root: importMs("agent-persistence"),
    zod: importMs("zod"),
  }));
  return { rootMs: median(pairs.map(({ root }) => root)), zodMs: median(pairs.map(({ zod }) => zod)) };
}

function importMs(name: string): number {
  const code = `const start = performance.now(); await import("${name}"); console.log(performance.now() - start);`;
  const cwd = fileURLToPath(new URL("../..", import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], {
    cwd,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return Number(stdout);
}
