import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { inspect } from "agent-persistence/inspect";
import { timeOf } from "../timeOf.ts";
import { loopingAgent } from "./loopingAgent.ts";

/** A look at an agent of 100,000 records on files. */
export interface InspectionFigures {
  /** What `show` prints, with the pass over the log that every look begins with. */
  readonly showMs: number;
  /** The last 50 checkpoints, once the log is known. */
  readonly treeMs: number;
  /** The last 50 steps, once the log is known. */
  readonly pageMs: number;
  /** How much more heap is in use afterwards. */
  readonly heapBytes: number;
}

/** Two records each. */
const steps = 50_000;

/** Writes the agent, or looks at it: each in a process of its own. */
export async function inspections(of: "write" | "look", directory: string): Promise<InspectionFigures | null> {
  const storage = new FilePersistenceStorageProvider({ directory });
  if (of === "look") return look(storage);
  await loopingAgent(storage, { steps, finishes: true }).run(1, { agentId: "bench" });
  await storage.log.close();
  return null;
}

async function look(storage: FilePersistenceStorageProvider): Promise<InspectionFigures> {
  const before = usedHeap();
  const view = inspect(storage);
  const showMs = await timeOf(() => view.agent("bench"));
  const treeMs = await timeOf(() => view.checkpoints("bench", { limit: 50 }));
  const pageMs = await timeOf(() => view.steps("bench", { limit: 50 }));
  const heapBytes = usedHeap() - before;
  // The inspector is what holds it.
  await view.checkpoints("bench", { limit: 1 });
  return { showMs, treeMs, pageMs, heapBytes };
}

function usedHeap(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
