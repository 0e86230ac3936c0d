import { quotedList } from "../quotedList.ts";
import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Branches of a parallel node left different values under one key of the storage, and `merge` decided on none. */
export class BranchConflictError extends AgentPersistenceError {
  override readonly code = "branch_conflict";

  constructor(
    /** The path of the parallel node. */
    readonly nodeId: string,
    /** The branches that changed each key. */
    readonly branchesByKey: Readonly<Record<string, readonly string[]>>,
  ) {
    super(
      `Branches of node "${nodeId}" left different values in the storage: ${Object.entries(branchesByKey)
        .map(([key, branches]) => `"${key}" (${quotedList(branches)})`)
        .join("; ")}. In merge, set or delete each of these keys, or adopt one branch.`,
    );
  }
}
