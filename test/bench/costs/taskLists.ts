import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { TaskManager } from "agent-persistence/task";
import { cpuTimeOf } from "../measure/cpuTimeOf.ts";
import { median } from "../measure/statistics.ts";
import type { Target } from "../targets.ts";

const tasks = 4_000;
const rounds = 9;

/** A new process lists all tasks. The first lists, which compile the code, do not count. */
export async function taskLists(directory: string): Promise<Target[]> {
  const made = new TaskManager({ storage: new FilePersistenceStorageProvider({ directory }) });
  for (let n = 0; n < tasks; n++) await made.create({ taskName: "echo", inputRequest: n });
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const manager = new TaskManager({ storage: new FilePersistenceStorageProvider({ directory }) });
    times.push(await cpuTimeOf(() => countOf(manager)));
  }
  return [{ name: "list of 4,000 tasks on files, CPU", found: median(times), atMost: 200, unit: " ms" }];
}

async function countOf(manager: TaskManager): Promise<void> {
  let found = 0;
  for await (const _task of manager.list()) found++;
  if (found !== tasks) throw new Error(`The list has ${found} tasks.`);
}
