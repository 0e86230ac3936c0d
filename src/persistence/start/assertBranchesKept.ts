import { BranchesChangedError } from "../../errors/run/BranchesChangedError.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";

/**
 * Refuses to go on with a parallel node without the branches that had begun: a branch under another key would do again what
 * they did.
 *
 * @param keys the branches that the node has now.
 * @throws BranchesChangedError
 */
export function assertBranchesKept({ stored, forks, journal }: RunRecorder, nodeId: string, keys: readonly string[]) {
  const lines = forks.version === undefined ? [] : (stored?.index.lines.branchesOf(forks.version) ?? []);
  const now = new Set(keys);
  const begun = lines.flatMap(({ place }) => ("branch" in place ? [place.branch] : []));
  const missing = begun.filter((key) => !now.has(key));
  if (missing.length > 0) throw new BranchesChangedError(journal.agentId, nodeId, missing, keys);
}
