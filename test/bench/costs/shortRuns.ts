import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Target } from "../targets.ts";

const program = fileURLToPath(new URL("./shortRun.ts", import.meta.url));
const syncs = /\b(?:fsync|fdatasync)\(/;

/** The calls of a short run to the operating system that name the folder of its storage, counted by strace. */
export function shortRuns(directory: string): Target[] {
  const [storage, trace] = [join(directory, "storage"), join(directory, "trace")];
  const options = ["-f", "-y", "-qq", "-e", "trace=%file,%desc", "-o", trace];
  const { status, error } = spawnSync("strace", [...options, process.execPath, "--import", "tsx", program, storage]);
  if (error !== undefined) return [];
  if (status !== 0) throw new Error("The traced run failed.");
  // `-f` reports a call that another thread interrupts in two lines.
  const calls = readFileSync(trace, "utf8")
    .split("\n")
    .filter((line) => line.includes(storage) && !line.includes("resumed>") && !line.includes("execve("));
  const name = "a run with one model request on files:";
  return [
    { name: `${name} calls to the file system`, found: calls.length, atMost: 25, unit: "" },
    { name: `${name} syncs`, found: calls.filter((line) => syncs.test(line)).length, atMost: 4, unit: "" },
  ];
}
