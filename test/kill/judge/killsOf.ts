import type { TraceLine } from "./TraceLine.ts";

/** Where a kill fell. */
export interface Kill {
  /** Nodes that had ended; -1 before the first began. */
  readonly iteration: number;
  /** Calls whose tool had begun and not ended. */
  readonly insideCalls: number;
}

/** The kills that a trace shows: each is followed by what the log had recorded. */
export function killsOf(lines: readonly TraceLine[]): readonly Kill[] {
  const kills: Kill[] = [];
  let iteration = -1;
  let inside = new Set<string>();
  for (const line of lines) {
    if (line.kind === "process") inside = new Set();
    if (line.kind === "node") iteration = line.iteration;
    if (line.kind === "started") inside.add(line.call);
    if (line.kind === "finished") inside.delete(line.call);
    if (line.kind === "recorded") kills.push({ iteration, insideCalls: inside.size });
  }
  return kills;
}
