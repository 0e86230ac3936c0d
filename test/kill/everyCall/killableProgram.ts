import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { bundleWorker } from "../bundleWorker.ts";
import { temporaryDirectory } from "../temporaryDirectory.ts";

/** How a process ended. */
export interface End {
  readonly killed: boolean;
  readonly said: string;
  readonly errors: string;
}

/** Runs a worker in a process of its own, until it ends. It is killed before the call to the file system with a number; 0: never. */
export function killableProgram(worker: string): (directory: string, killBefore: number) => Promise<End> {
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
  return (directory, killBefore) => {
    const env = { ...process.env, KILL_BEFORE: String(killBefore) };
    return new Promise((resolve) =>
      execFile(process.execPath, ["--import", preload, program, directory], { env }, (ended, said, errors) =>
        resolve({ killed: ended?.signal === "SIGKILL", said, errors }),
      ),
    );
  };
}
