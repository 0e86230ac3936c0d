import { BranchesChangedError } from "../../errors/runErrors.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";

/**
 * Refuses to continue a parallel node if a started branch is missing. A branch under another key would repeat its work.
 *
 * @param keys the current branches of the node.
 * @throws BranchesChangedError
 */
export function assertBranchesKept({ stored, forks, journal }: RunRecorder, nodeId: string, keys: readonly string[]) {
  const lines = forks.version === undefined ? [] : (stored?.index.lines.branchesOf(forks.version) ?? []);
  const now = new Set(keys);
  const begun = lines.flatMap(({ place }) => ("branch" in place ? [place.branch] : []));
  const missing = begun.filter((key) => !now.has(key));
  if (missing.length > 0) throw new BranchesChangedError(journal.agentId, nodeId, missing, keys);
}
