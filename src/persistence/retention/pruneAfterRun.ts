import type { LastPruning } from "../../checkpoint/records/SnapshotRecord.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";

/** Prunes an agent after its run if it has too many checkpoints. Errors become events, because the run has finished. */
export async function pruneAfterRun(setup: PersistenceSetup, journal: Journal): Promise<void> {
  if (journal.failed || !isPruningNext(setup, journal)) return;
  const tell = (error: unknown) => setup.tell({ type: "pruning_failed", agentId: journal.agentId, error });
  try {
    const { pruneOwned, pruningOptions } = await import("./pruneStorage.ts");
    const action = () => pruneOwned(setup, journal, pruningOptions(setup));
    const pruned = await (setup.telemetry?.prune(journal.agentId, action, (found) => (found ? [found] : [])) ??
      action());
    if (pruned?.outstanding !== undefined) tell(pruned.outstanding);
  } catch (error) {
    tell(error);
  }
}

export function isPruningNext({ retention }: PersistenceSetup, journal: Journal): boolean {
  return retention !== undefined && isPruningDue(grownAgent(journal), retention.maxCheckpoints);
}

function grownAgent({ nextVersion, pruned, named, names }: Journal): GrownAgent {
  const exempt = [...[...named.entries()].map(([, [version]]) => version), ...names.versions()];
  return { version: nextVersion - 1, pruned, exempt };
}

interface GrownAgent {
  readonly version: number;
  readonly pruned: LastPruning | undefined;
  /** The versions of known checkpoints that pruning always keeps. */
  readonly exempt: Iterable<number>;
}

/**
 * Returns whether an agent has too many checkpoints. If the last pruning had to keep more than the maximum, the next one
 * is due when the new checkpoints are half as many as the kept ones.
 */
export function isPruningDue({ version, pruned = [0, 0], exempt }: GrownAgent, maxCheckpoints: number): boolean {
  const [last, kept] = pruned;
  const least = kept <= maxCheckpoints ? maxCheckpoints - kept : kept / 2;
  if (version - last <= least) return false;
  const staying = new Set([...exempt].filter((each) => each > last));
  return version - last - staying.size > least;
}
