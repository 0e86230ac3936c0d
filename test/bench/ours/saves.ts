import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { join } from "node:path";
import { timesOf, timesOfAll, type Figures } from "../Figures.ts";
import { Floor } from "../Floor.ts";
import { StepTimes } from "../StepTimes.ts";
import { diskBytes, liveBytes } from "../storedBytes.ts";
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

/** Everything but the storage is garbage when the run is over: what is left is what the storage holds. */
export async function saveToMemory(steps: number): Promise<Figures> {
  const before = liveBytes();
  const storage = new InMemoryPersistenceStorageProvider();
  const times = new StepTimes();
  await runToEnd(storage, steps, times);
  const heapBytes = liveBytes() - before;
  await storage.log.close();
  return { save: timesOf(times), heapBytes };
}

async function runToEnd(storage: InMemoryPersistenceStorageProvider, steps: number, times: StepTimes): Promise<void> {
  const agent = loopingAgent(storage, { steps, finishes: true, times });
  times.leave();
  await agent.run(1, { agentId: "bench" });
  times.enter();
}
