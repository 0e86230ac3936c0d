import type { LastPruning } from "../../checkpoint/records/LastPruning.ts";

/** What an agent has, as far as it is known without reading all of it. */
export interface GrownAgent {
  /** The version of its latest checkpoint. */
  readonly version: number;
  /** When it was pruned last; `undefined`: never. */
  readonly pruned: LastPruning | undefined;
  /** Versions of checkpoints that no pruning takes, as far as they are known. */
  readonly exempt: Iterable<number>;
}

/**
 * Whether so much has come since an agent was pruned last that it pays to look at all of it. Pruning costs as much as was
 * kept then and has come since, so each checkpoint pays for at most three, however many are kept.
 */
export function isPruningDue({ version, pruned = [0, 0], exempt }: GrownAgent, maxCheckpoints: number): boolean {
  const [last, kept] = pruned;
  const staying = new Set([...exempt].filter((each) => each > last));
  return version - last - staying.size > Math.max(maxCheckpoints, kept / 2);
}
