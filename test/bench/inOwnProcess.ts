import { fork } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Job } from "./Job.ts";

/** On the disk of the project: a temporary folder of the system may be in memory, where syncing costs nothing. */
const scratch = fileURLToPath(new URL("../../node_modules/.cache/agent-persistence-bench/", import.meta.url));

/** Measures in a new process, so that no contestant runs on the heap or the compiled code of another. */
export async function inOwnProcess(job: Job): Promise<unknown> {
  const [figures] = await inOwnProcesses([job]);
  return figures;
}

/** Jobs one after the other in one folder, each in a new process. */
export async function inOwnProcesses(jobs: readonly Job[]): Promise<readonly unknown[]> {
  await mkdir(scratch, { recursive: true });
  const directory = await mkdtemp(join(scratch, "run-"));
  const figures: unknown[] = [];
  try {
    for (const job of jobs) figures.push(await measure(job, directory));
    return figures;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function measure(job: Job, directory: string): Promise<unknown> {
  const child = fork(fileURLToPath(new URL("./runJob.ts", import.meta.url)), [JSON.stringify(job), directory], {
    execArgv: ["--expose-gc", "--import", "tsx"],
  });
  return new Promise((resolve, reject) => {
    let figures: unknown;
    child.once("message", (message) => (figures = message));
    child.once("error", reject);
    child.once("exit", (code) => (code === 0 ? resolve(figures) : reject(new Error(`${JSON.stringify(job)} failed`))));
  });
}
