import type { Journal } from "../../journal/Journal.ts";
import { isPruningDue, type GrownAgent } from "./isPruningDue.ts";
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
