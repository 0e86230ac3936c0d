import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { inspect } from "agent-persistence/inspect";
import { join } from "node:path";
import { diskBytes } from "../measure/storedBytes.ts";
import { timeOf } from "../measure/timeOf.ts";
import { loopingAgent } from "../ours/loopingAgent.ts";
import { writePage } from "./timelines.ts";

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

/** The page of the last 50 checkpoints of that agent. */
export interface LastPageFigures {
  readonly writeMs: number;
  /** How much more memory the process took at most, of which its log on disk takes a part while it is read. */
  readonly memoryBytes: number;
  readonly logBytes: number;
}

/** Two records each. */
const steps = 50_000;

/** Writes the agent, looks at it, or writes a page of its end: each in a process of its own. */
export async function inspections(
  of: "write" | "look" | "page",
  directory: string,
): Promise<InspectionFigures | LastPageFigures | null> {
  const storage = new FilePersistenceStorageProvider({ directory });
  if (of === "look") return look(storage);
  if (of === "page") return page(storage, directory);
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

async function page(storage: FilePersistenceStorageProvider, directory: string): Promise<LastPageFigures> {
  const before = process.resourceUsage().maxRSS;
  const writeMs = await timeOf(() => writePage(storage, join(directory, "page.html"), { last: 50 }));
  const memoryBytes = (process.resourceUsage().maxRSS - before) * 1024;
  return { writeMs, memoryBytes, logBytes: await diskBytes(join(directory, "tasks")) };
}

function usedHeap(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
