import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Job } from "./Job.ts";

// Only what the job measures is loaded.
const [job, directory = ""] = [JSON.parse(process.argv[2] ?? "") as Job, process.argv[3]];
process.send?.(job.kind === "save" ? await save(job) : await load(job));

/** A first run is thrown away: it loads and compiles the code, which is no part of the price of a step. */
async function save({ contestant, steps }: Extract<Job, { kind: "save" }>): Promise<unknown> {
  const { contestants } = await import("./contestants.ts");
  const found = contestants.find(({ name }) => name === contestant);
  if (found === undefined) throw new Error(`There is no contestant ${contestant}.`);
  await found.run(found.full ? 300 : 3_000, await folder("warm-up"));
  return found.run(steps, await folder("run"));
}

async function load({ steps, messages }: Extract<Job, { kind: "load" }>): Promise<unknown> {
  const loads = await import("./ours/loads.ts");
  return loads.load(steps, messages, await folder("run"));
}

async function folder(name: string): Promise<string> {
  const path = join(directory, name);
  await mkdir(path);
  return path;
}
