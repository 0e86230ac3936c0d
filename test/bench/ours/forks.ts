import { persistence, type AIAgent } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { copyFile, mkdir, open, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { median } from "../measure/statistics.ts";
import { timeOf } from "../measure/timeOf.ts";
import { agentOfLargeValues } from "./largeValues.ts";
import { loopingAgent } from "./loopingAgent.ts";

/** Medians in milliseconds. */
export interface ForkFigures {
  /** Of an agent of 3,000 steps with a message of 2 KB each, by a new provider. */
  readonly stepsMs: number;
  /** The files of that agent are copied and synced. */
  readonly stepsCopyMs: number;
  /** Of an agent with 100 values of 1 MB. */
  readonly valuesMs: number;
  readonly valuesCopyMs: number;
}

type AgentOf = (storage: FilePersistenceStorageProvider) => AIAgent<number, number>;

const rounds = 15;
/** The first rounds compile the code and are thrown away. */
const warmUp = 5;
const steps = 3_000;
const values = 100;

/** Forks an agent by a new provider, and copies its files, in turn. */
export async function forks(directory: string): Promise<ForkFigures> {
  const looping: AgentOf = (storage) => loopingAgent(storage, { steps, finishes: true });
  const storing: AgentOf = (storage) => agentOfLargeValues(storage, values);
  const [stepsMs, stepsCopyMs] = await forksOf(looping, 1, join(directory, "steps"));
  const [valuesMs, valuesCopyMs] = await forksOf(storing, values, join(directory, "values"));
  return { stepsMs, stepsCopyMs, valuesMs, valuesCopyMs };
}

async function forksOf(agentOf: AgentOf, input: number, directory: string): Promise<[forkMs: number, copyMs: number]> {
  const written = new FilePersistenceStorageProvider({ directory });
  await agentOf(written).run(input, { agentId: "bench" });
  await written.log.close();
  const files = await filesIn(directory);
  const [fork, copy]: [number[], number[]] = [[], []];
  for (let round = 0; round < warmUp + rounds; round++) {
    const storage = new FilePersistenceStorageProvider({ directory });
    const feature = persistence(agentOf(storage));
    fork.push(await timeOf(() => feature.agent("bench").fork("fork")));
    await feature.deleteAgent("fork");
    await storage.log.close();
    const to = `${directory}-copy`;
    copy.push(await timeOf(() => copySynced(directory, files, to)));
    await rm(to, { recursive: true });
  }
  return [median(fork.slice(warmUp)), median(copy.slice(warmUp))];
}

async function filesIn(directory: string): Promise<readonly string[]> {
  const found = await readdir(join(directory, "tasks"), { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return files.map((path) => path.slice(directory.length + 1));
}

/** Eight files at a time, as a fork takes its values. */
async function copySynced(from: string, files: readonly string[], to: string): Promise<void> {
  for (const folder of new Set(files.map(dirname))) await mkdir(join(to, folder), { recursive: true });
  const left = files.values();
  const work = async (): Promise<void> => {
    for (const file of left) {
      await copyFile(join(from, file), join(to, file));
      const copied = await open(join(to, file), "r+");
      await copied.sync();
      await copied.close();
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
}
