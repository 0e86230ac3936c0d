import type { LastPruning } from "../../checkpoint/records/SnapshotRecord.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { pruneOwned, pruningOptions } from "./prune.ts";

/**
 * Prunes an agent whose run has just ended, if retention is configured. What goes wrong is reported: the run has ended. An
 * agent is looked at only when enough has come since the last time, since that means reading all of it.
 */
export async function pruneAfterRun(setup: PersistenceSetup, journal: Journal): Promise<void> {
  const { retention } = setup;
  if (!retention || journal.failed || !isPruningDue(grownAgent(journal), retention.maxCheckpoints)) return;
  const tell = (error: unknown) => setup.tell({ kind: "pruning_failed", agentId: journal.agentId, error });
  try {
    const pruned = await pruneOwned(setup, journal, pruningOptions(setup));
    if (pruned?.outstanding !== undefined) tell(pruned.outstanding);
  } catch (error) {
    tell(error);
  }
}

function grownAgent({ nextVersion, pruned, runs, named }: Journal): GrownAgent {
  return {
    version: nextVersion - 1,
    pruned,
    exempt: [...runs.values(), ...named.values()].map(([version]) => version),
  };
}

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
