import type { Figures } from "./Figures.ts";

/** What is compared. Each runs in processes of its own, given an empty directory on the disk of this project. */
export interface Contestant {
  readonly name: string;
  readonly kind: "file" | "memory";
  /** It stores the whole history in each checkpoint: 3,000 steps write 9 GB. */
  readonly full: boolean;
  readonly times: (steps: number, directory: string) => Promise<Figures>;
  /** Our saver: how it is used. */
  readonly graph?: "put" | "full" | "delta";
  /** What a storage in memory holds on to, in bytes. */
  readonly heap?: (steps: number) => Promise<number>;
}

const savers = {
  "ours-files": "agent-persistence, PersistenceSaver, files",
  sqlite: "LangGraph SqliteSaver",
  "ours-memory": "agent-persistence, PersistenceSaver, memory",
  memory: "LangGraph MemorySaver",
} as const;

/** LangGraph's savers, and ours on two storages. */
export type SaverKind = keyof typeof savers;
type GraphRun = "put" | "full" | "delta";

export const contestants: readonly Contestant[] = [
  {
    name: "agent-persistence, files",
    kind: "file",
    full: false,
    times: async (steps, directory) => (await ours()).saveToFiles(steps, directory),
  },
  langGraph("ours-files", "put"),
  langGraph("ours-files", "full"),
  langGraph("ours-files", "delta"),
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
  langGraph("ours-memory", "put"),
  langGraph("ours-memory", "full"),
  langGraph("ours-memory", "delta"),
  langGraph("memory", "put"),
  langGraph("memory", "full"),
  langGraph("memory", "delta"),
];

function langGraph(saver: SaverKind, run: GraphRun): Contestant {
  const kind = saver === "sqlite" || saver === "ours-files" ? "file" : "memory";
  return {
    name: `${savers[saver]}, ${run === "put" ? "put" : `graph, ${run}`}`,
    kind,
    full: run !== "delta" && !saver.startsWith("ours"),
    ...(saver.startsWith("ours") && { graph: run }),
    times: async (steps, directory) => (await graphs()).times(saver, run, steps, directory),
    ...(kind === "memory" && { heap: async (steps: number) => (await graphs()).heap(saver, run, steps) }),
  };
}

// Loaded on demand: a process has only what it measures.
const ours = () => import("./ours/saves.ts");
const graphs = async () => (await import(new URL("./langgraph/langGraph.ts", import.meta.url).href)) as LangGraphModule;

/** The part of `langgraph/langGraph.ts` that is used, so that types do not need the SQLite saver. */
interface LangGraphModule {
  times(saver: SaverKind, run: GraphRun, steps: number, directory: string): Promise<Figures>;
  heap(saver: SaverKind, run: GraphRun, steps: number): Promise<number>;
}
