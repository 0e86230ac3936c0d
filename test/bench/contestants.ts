import type { Figures } from "./Figures.ts";

/** What is compared. Each runs in processes of its own, given an empty directory on the disk of this project. */
export interface Contestant {
  readonly name: string;
  readonly kind: "file" | "memory";
  /** It stores the whole history in each checkpoint: 3,000 steps write 9 GB. */
  readonly full: boolean;
  readonly times: (steps: number, directory: string) => Promise<Figures>;
  /** What a storage in memory holds on to, in bytes. */
  readonly heap?: (steps: number) => Promise<number>;
}

export const contestants: readonly Contestant[] = [
  {
    name: "agent-persistence, files",
    kind: "file",
    full: false,
    times: async (steps, directory) => (await ours()).saveToFiles(steps, directory),
  },
  langGraph("sqlite", "put"),
  langGraph("sqlite", "full"),
  langGraph("sqlite", "delta"),
  {
    name: "agent-persistence, memory",
    kind: "memory",
    full: false,
    times: async (steps) => (await ours()).saveToMemory(steps),
    heap: async (steps) => (await ours()).heapOfMemory(steps),
  },
  langGraph("memory", "put"),
  langGraph("memory", "full"),
  langGraph("memory", "delta"),
];

function langGraph(saver: "memory" | "sqlite", run: "put" | "full" | "delta"): Contestant {
  return {
    name: `LangGraph ${saver === "memory" ? "MemorySaver" : "SqliteSaver"}, ${run === "put" ? "put" : `graph, ${run}`}`,
    kind: saver === "memory" ? "memory" : "file",
    full: run !== "delta",
    times: async (steps, directory) => (await theirs()).times(saver, run, steps, directory),
    ...(saver === "memory" && { heap: async (steps: number) => (await theirs()).heap(run, steps) }),
  };
}

// Loaded on demand: a process has only what it measures, and without LangGraph installed ours can still be measured.
const ours = () => import("./ours/saves.ts");
const theirs = async () => (await import(new URL("./langgraph/langGraph.ts", import.meta.url).href)) as LangGraphModule;

/** The part of `langgraph/langGraph.ts` that is used, so that types do not need LangGraph either. */
interface LangGraphModule {
  times(saver: "memory" | "sqlite", run: "put" | "full" | "delta", steps: number, directory: string): Promise<Figures>;
  heap(run: "put" | "full" | "delta", steps: number): Promise<number>;
}
