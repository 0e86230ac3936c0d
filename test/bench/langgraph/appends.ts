import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { PersistenceSaver } from "agent-persistence/langgraph";
import type { GraphAppends } from "../GraphFigures.ts";
import { StepTimes } from "../measure/StepTimes.ts";
import { type Channel, throughGraph } from "./graph.ts";

const [few, many] = [50, 150];

/** What a long run takes above a short one. */
export async function graphAppends(): Promise<GraphAppends> {
  const each = async (channel: Channel): Promise<number> =>
    ((await appends(channel, many)) - (await appends(channel, few))) / (many - few);
  return { full: await each("full"), delta: await each("delta") };
}

async function appends(channel: Channel, steps: number): Promise<number> {
  const storage = new InMemoryPersistenceStorageProvider();
  await using saver = new PersistenceSaver({ storage });
  await throughGraph(channel, steps)({ saver, times: new StepTimes(), floor: undefined });
  let count = 0;
  for await (const _ of storage.log.read("thread:bench")) count++;
  return count;
}
