import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, strategy } from "agent-persistence";
import { cpuTimeOf } from "../measure/cpuTimeOf.ts";
import { median } from "../measure/statistics.ts";
import type { Target } from "../targets.ts";

const rounds = 7;

/** The cost of an item does not grow with the number of items. */
export async function itemsInMemory(): Promise<Target[]> {
  const [few, many]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    few.push((await cpuTimeOf(() => workOn(1_000))) / 1_000);
    many.push((await cpuTimeOf(() => workOn(5_000))) / 5_000);
  }
  const ratio = median(many) / median(few);
  return [{ name: "memory: CPU of an item of 5,000 ÷ of 1,000", found: ratio, atMost: 1.2, unit: "×" }];
}

async function workOn(items: number): Promise<void> {
  const working = strategy<number, number>("working", (graph) => {
    const work = graph.node("work", async (item: number) => item);
    const all = graph.each("all", work, (results: readonly number[]) => results.length);
    graph.edge(graph.start, all, { map: () => Array.from({ length: items }, (_, at) => at) });
    graph.edge(all, graph.finish);
  });
  const promptExecutor = { execute: () => Promise.reject(new Error("No model is asked.")) };
  const agent = new AIAgent({ id: "a", llmModel: "m", promptExecutor, strategy: working, maxIterations: 1_000_000 });
  await agent.install(Persistence, { storage: new InMemoryPersistenceStorageProvider() }).run(0);
}
