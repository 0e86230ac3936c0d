import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { join } from "node:path";
import { timesOf, timesOfAll, type Figures } from "../Figures.ts";
import { Floor } from "../measure/Floor.ts";
import { StepTimes } from "../measure/StepTimes.ts";
import { diskBytes, heapGrowth } from "../measure/storedBytes.ts";
import { loopingAgent } from "./loopingAgent.ts";

export async function saveToFiles(steps: number, directory: string): Promise<Figures> {
  const data = join(directory, "data");
  const storage = new FilePersistenceStorageProvider({ directory: data });
  const floor = await Floor.at(join(directory, "floor"));
  const times = new StepTimes();
  const agent = loopingAgent(storage, { steps, finishes: true, times, floor });
  times.leave();
  await agent.run(1, { agentId: "bench" });
  times.enter();
  await storage.log.close();
  await floor.close();
  return { save: timesOf(times), floor: timesOfAll(floor.times), diskBytes: await diskBytes(data) };
}

export async function saveToMemory(steps: number): Promise<Figures> {
  const times = new StepTimes();
  await runToEnd(new InMemoryPersistenceStorageProvider(), steps, times);
  return { save: timesOf(times) };
}

export function heapOfMemory(steps: number): Promise<number> {
  const storage = new InMemoryPersistenceStorageProvider();
  return heapGrowth(storage, () => runToEnd(storage, steps, new StepTimes()));
}

async function runToEnd(storage: InMemoryPersistenceStorageProvider, steps: number, times: StepTimes): Promise<void> {
  const agent = loopingAgent(storage, { steps, finishes: true, times });
  times.leave();
  await agent.run(1, { agentId: "bench" });
  times.enter();
}
