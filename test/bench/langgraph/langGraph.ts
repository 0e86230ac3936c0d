import type { Figures } from "../Figures.ts";
import { putDirectly } from "./direct.ts";
import { throughGraph } from "./graph.ts";
import { heapOfSaver, timesWithSaver, type Run } from "./runWithSaver.ts";
import type { SaverKind } from "../contestants.ts";

/** `put` calls the saver without a graph; the others are graphs with that channel. */
export type LangGraphRun = "put" | "full" | "delta";

export function times(saver: SaverKind, kind: LangGraphRun, steps: number, directory: string): Promise<Figures> {
  return timesWithSaver(saver, runOf(kind, steps), directory);
}

export function heap(saver: SaverKind, kind: LangGraphRun, steps: number): Promise<number> {
  return heapOfSaver(saver, runOf(kind, steps));
}

function runOf(kind: LangGraphRun, steps: number): Run {
  return kind === "put" ? putDirectly(steps) : throughGraph(kind, steps);
}
