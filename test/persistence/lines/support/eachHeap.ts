import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, strategy } from "../../../../src/index.ts";
import { FilePersistenceStorageProvider } from "../../../../src/file.ts";
import { scriptedModel } from "../../../../src/testing.ts";

// Looks at the heap while `graph.each` runs and when it merges. Needs `--expose-gc`.
const [, , kind, items] = process.argv;

const looks = 10;

function usedHeap(): number {
  if (globalThis.gc === undefined) throw new Error("Run node with --expose-gc.");
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

async function peakHeap(items: number): Promise<number> {
  let [begun, peak] = [0, 0];
  const look = () => void (peak = Math.max(peak, usedHeap()));
  const built = strategy<number, number>("items", (graph) => {
    const talk = graph.node("talk", (_count: number, context) => {
      for (let at = 0; at < 50; at++) context.llm.append({ role: "user", content: `${at} `.padEnd(500, "x") });
      return Array.from({ length: items }, (_, at) => at);
    });
    const work = graph.node("work", (item: number) => {
      if (begun++ % (items / looks) === 0) look();
      return item;
    });
    const all = graph.each("all", work, { concurrency: 100 }, (results: readonly number[]) => {
      look();
      return results.length;
    });
    graph.edge(graph.start, talk);
    graph.edge(talk, all);
    graph.edge(all, graph.finish);
  });
  const directory = await mkdtemp(join(tmpdir(), "agent-persistence-"));
  const storage =
    kind === "files" ? new FilePersistenceStorageProvider({ directory }) : new InMemoryPersistenceStorageProvider();
  const agent = new AIAgent({
    llmModel: "scripted",
    promptExecutor: scriptedModel([]),
    strategy: built,
    maxIterations: Infinity,
  });
  await agent.install(Persistence, { storage }).run(items);
  await rm(directory, { recursive: true });
  return peak;
}

// Loads and compiles what all runs share.
await peakHeap(looks);
process.send?.([await peakHeap(Number(items)), await peakHeap(10 * Number(items))]);
