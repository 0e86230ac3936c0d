import type { Figures } from "./Figures.ts";

export interface Contestant {
  readonly name: string;
  readonly kind: "file" | "memory";
  /** It stores the whole history in each checkpoint: 3,000 steps write 9 GB. */
  readonly full: boolean;
  /** Runs in a process of its own, given an empty directory on the disk of this project. */
  readonly run: (steps: number, directory: string) => Promise<Figures>;
}

/** Modules are loaded on demand, so that LangGraph is needed only where it runs. */
const langgraph = async (): Promise<Langgraph> => ({
  ...((await import(new URL("./langgraph/direct.ts", import.meta.url).href)) as Langgraph),
  ...((await import(new URL("./langgraph/graph.ts", import.meta.url).href)) as Langgraph),
});

interface Langgraph {
  putDirectly(kind: "memory" | "sqlite", steps: number, directory: string): Promise<Figures>;
  throughGraph(
    kind: "memory" | "sqlite",
    channel: "full" | "delta",
    steps: number,
    directory: string,
  ): Promise<Figures>;
}

export const contestants: readonly Contestant[] = [
  {
    name: "agent-persistence, files",
    kind: "file",
    full: false,
    run: async (steps, directory) => (await import("./ours/saves.ts")).saveToFiles(steps, directory),
  },
  {
    name: "LangGraph SqliteSaver, put",
    kind: "file",
    full: true,
    run: async (steps, directory) => (await langgraph()).putDirectly("sqlite", steps, directory),
  },
  {
    name: "LangGraph SqliteSaver, graph",
    kind: "file",
    full: true,
    run: async (steps, directory) => (await langgraph()).throughGraph("sqlite", "full", steps, directory),
  },
  {
    name: "LangGraph SqliteSaver, delta graph",
    kind: "file",
    full: false,
    run: async (steps, directory) => (await langgraph()).throughGraph("sqlite", "delta", steps, directory),
  },
  {
    name: "agent-persistence, memory",
    kind: "memory",
    full: false,
    run: async (steps) => (await import("./ours/saves.ts")).saveToMemory(steps),
  },
  {
    name: "LangGraph MemorySaver, put",
    kind: "memory",
    full: true,
    run: async (steps, directory) => (await langgraph()).putDirectly("memory", steps, directory),
  },
  {
    name: "LangGraph MemorySaver, graph",
    kind: "memory",
    full: true,
    run: async (steps, directory) => (await langgraph()).throughGraph("memory", "full", steps, directory),
  },
  {
    name: "LangGraph MemorySaver, delta graph",
    kind: "memory",
    full: false,
    run: async (steps, directory) => (await langgraph()).throughGraph("memory", "delta", steps, directory),
  },
];
