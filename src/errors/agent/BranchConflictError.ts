import { quotedList } from "../quotedList.ts";
import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/**
 * Branches of a parallel node wrote different values to the same storage key, and `merge` did not resolve the conflict.
 */
export class BranchConflictError extends AgentPersistenceError {
  override readonly code = "branch_conflict";

  constructor(
    /** The path of the parallel node. */
    readonly nodeId: string,
    /** The branches that changed each key. */
    readonly branchesByKey: Readonly<Record<string, readonly string[]>>,
  ) {
    super(
      `Branches of node "${nodeId}" wrote different values to the same storage keys: ${Object.entries(branchesByKey)
        .map(([key, branches]) => `"${key}" (${quotedList(branches)})`)
        .join("; ")}. In merge, set or delete each of these keys, or adopt the values of one branch.`,
    );
  }
}
