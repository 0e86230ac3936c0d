import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { bundleWorker } from "../bundleWorker.ts";
import { temporaryDirectory } from "../temporaryDirectory.ts";

/** How a process ended. */
export interface End {
  readonly killed: boolean;
  /** What it printed, as JSON; its errors if it printed nothing. */
  readonly said: unknown;
  /** How many calls to the file system it made; NaN if it was killed. */
  readonly calls: number;
}

/** @param killBefore the number of the call to the file system that the process is killed before; 0: it is not killed. */
type Start = (directory: string, killBefore: number, ...args: readonly string[]) => Promise<End>;

/** Runs a worker in a process of its own, until it ends. */
export function killableProgram(worker: string): Start {
  let home: string;
  let program: string;
  let preload: string;
  beforeAll(async () => {
    home = await temporaryDirectory();
    const preloads = await temporaryDirectory();
    [program, preload] = await Promise.all([
      bundleWorker(home, worker),
      bundleWorker(preloads, "everyCall/killBeforeCall.ts"),
    ]);
  });
  afterAll(async () => {
    await rm(home, { recursive: true, force: true });
    await rm(join(preload, ".."), { recursive: true, force: true });
  });
  return (directory, killBefore, ...args) => {
    const env = { ...process.env, KILL_BEFORE: String(killBefore) };
    return new Promise((resolve) =>
      execFile(process.execPath, ["--import", preload, program, directory, ...args], { env }, (ended, said, errors) =>
        resolve({
          killed: ended?.signal === "SIGKILL",
          said: said === "" ? errors : (JSON.parse(said) as unknown),
          calls: Number(/^calls (\d+)$/m.exec(errors)?.[1]),
        }),
      ),
    );
  };
}
