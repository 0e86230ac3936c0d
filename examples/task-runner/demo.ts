import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { setTimeout as passes } from "node:timers/promises";
import { persistence } from "agent-persistence";
import { TaskManager } from "agent-persistence/task";
import { isStorageName, openStorage, storageNames } from "../openStorage.ts";
import { addressOf, seeIt } from "../seeIt.ts";
import { reporter, type Region } from "./agent.ts";
import { WorkerProcess } from "./WorkerProcess.ts";

/** Runs eight tasks on two workers and kills one of them in the middle of a task. Exits with 1 if a claim is false. */
const regions = ["north", "east", "south", "west", "coast", "hills", "plain", "lakes"];
const urgent = "hills";
const doomed = "south";

const directory = await mkdtemp(join(tmpdir(), "task-runner-"));
const { storage: storageName } = parseArgs({ options: { storage: { type: "string", default: "file" } } }).values;
if (!isStorageName(storageName)) throw new RangeError(`there is no storage ${storageName}: ${storageNames.join(", ")}`);
const storage = await openStorage(storageName, directory);
const tasks = new TaskManager({ storage });
const lines: string[] = [];

for (const [index, region] of regions.entries()) {
  const inputRequest: Region = { region, sales: [index, 10, 100] };
  await tasks.create({ taskId: region, taskName: "report", inputRequest, priority: region === urgent ? 5 : 0 });
}
console.log(`${regions.length} tasks are queued, "${urgent}" with the highest priority`);

const workers = new Map<string, WorkerProcess>();
for (const name of ["ada", "bob"]) workers.set(name, startWorker(name));
while (await isUnfinished()) await passes(50);
await Promise.all([...workers.values()].map((worker) => worker.stop()));

console.log("\ntask     status      output");
for await (const task of tasks.list()) {
  const output = task.status === "completed" ? String(task.data.finalOutput) : "";
  console.log(`${task.taskId.padEnd(8)} ${task.status.padEnd(11)} ${output}`);
}
const inEightDays = Date.now() + 8 * 24 * 60 * 60 * 1000;
const feature = persistence(reporter(storage, () => {}));
let pruned = 0;
for (const agentId of regions.filter((region) => region !== doomed))
  pruned += (await feature.prune({ agentId, now: inEightDays })).pruned.length;
console.log(`\n${pruned} finished tasks were pruned, as if eight days had passed; "${doomed}" stays to be looked at`);
const claims: readonly (readonly [string, boolean])[] = [
  ["the urgent task was among the first to begin", begun().slice(0, 3).includes(urgent)],
  ["one worker was killed", killed() !== undefined],
  ["the other worker recovered its task", lines.some((line) => line.endsWith(`recovered ${doomed} completed`))],
  [
    "the other worker knew how far the task had come",
    lines.some((line) => line.endsWith(`after "3 sales collected" with ${doomed}`)),
  ],
  ["the step that finished before the kill was not repeated", count(`collect ${doomed}`) === 1],
  ["every task was completed once", regions.every((region) => count(`${region} completed`) === 1)],
  ["the old tasks were pruned", pruned === regions.length - 1 && (await idsThere()).join() === doomed],
];
console.log();
for (const [claim, holds] of claims) console.log(`${holds ? "✓" : "✗"} ${claim}`);
process.exitCode = claims.every(([, holds]) => holds) ? 0 : 1;
console.log(`\n${seeIt(doomed, addressOf(storageName, directory))}`);

function startWorker(name: string): WorkerProcess {
  return new WorkerProcess([name, directory, storageName], (line) => hear(name, line));
}

/** Kills the worker that begins the second step of the doomed task. */
function hear(name: string, line: string): void {
  lines.push(line);
  console.log(line);
  if (line !== `${name} add ${doomed}` || killed() !== undefined) return;
  workers.get(name)?.kill();
  lines.push(`${name} was killed`);
  console.log(`${name} was killed`);
}

function killed(): string | undefined {
  return lines.find((line) => line.endsWith("was killed"));
}

function begun(): readonly (string | undefined)[] {
  return lines.filter((line) => line.includes(" collect ")).map((line) => line.split(" ").at(-1));
}

function count(ending: string): number {
  return lines.filter((line) => line.endsWith(ending)).length;
}

async function isUnfinished(): Promise<boolean> {
  for await (const task of tasks.list()) if (task.status !== "completed" && task.status !== "failed") return true;
  return false;
}

async function idsThere(): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { taskId } of tasks.list()) ids.push(taskId);
  return ids;
}
