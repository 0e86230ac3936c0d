import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIAgent, Persistence, strategy } from "../../../src/index.ts";
import { FilePersistenceStorageProvider } from "../../../src/file.ts";
import { inspect } from "../../../src/inspect.ts";
import { scriptedModel } from "../../../src/testing.ts";

// Looks at a log of many steps, with messages of so many bytes. Sends the heap that this takes, per step. Needs `--expose-gc`.
const allSteps = Number(process.argv[2]);

function usedHeap(): number {
  if (globalThis.gc === undefined) throw new Error("Run node with --expose-gc.");
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

async function written(directory: string, steps: number, bytes: number): Promise<void> {
  const storage = new FilePersistenceStorageProvider({ directory });
  const text = "x".repeat(bytes);
  const built = strategy<number, number>("steps", (graph) => {
    const step = graph.node("step", (left: number, context) => {
      context.llm.append({ role: "user", content: `${left} ${text}` });
      return left - 1;
    });
    graph.edge(graph.start, step);
    graph.edge(step, step, { when: (left) => left > 0 });
    graph.edge(step, graph.finish, { when: (left) => left <= 0 });
  });
  const agent = new AIAgent({
    llmModel: "none",
    promptExecutor: scriptedModel([]),
    strategy: built,
    maxIterations: Infinity,
  });
  await agent.install(Persistence, { storage }).run(steps - 1, { agentId: "a" });
  await storage.log.close();
}

async function heapPerStep(bytes: number, steps = allSteps): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), "agent-persistence-"));
  await written(directory, steps, bytes);
  const before = usedHeap();
  const view = inspect(new FilePersistenceStorageProvider({ directory }));
  await view.agent("a");
  const page = await view.steps("a", { limit: 50 });
  await view.checkpoints("a", { limit: 50 });
  const heap = usedHeap() - before;
  await rm(directory, { recursive: true });
  if (page.steps.length !== 50) throw new Error("There are 50 steps on a page.");
  return heap / steps;
}

// Loads and compiles what all looks share.
await heapPerStep(10, 200);
process.send?.([await heapPerStep(100), await heapPerStep(5_000)]);
