import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quotedList } from "../quotedList.ts";
import { quoted } from "../quoted.ts";

/**
 * A parallel node of a resumed run no longer has some of the branches that already started. The log is unchanged, and
 * no branch runs.
 */
export class BranchesChangedError extends AgentPersistenceError {
  override readonly code = "branches_changed";

  constructor(
    readonly agentId: string,
    /** The path of the parallel node. */
    readonly nodeId: string,
    /** The keys of the started branches that the node no longer has. */
    readonly missing: readonly string[],
    /** The current branch keys of the node. */
    readonly keys: readonly string[],
  ) {
    super(
      `Node "${nodeId}" started the branches ${quotedList(missing)}, but its items now have the keys ${quotedList(keys) || "(empty)"}. ` +
        `The key of an item must not change between attempts, so derive it only from the item. ` +
        `Restore the earlier keys and resume. Or discard the results of the branches: ` +
        `persistence(agent).agent(${quoted(agentId)}).setExecutionPoint({ nodeId: ${quoted(nodeId)}, input }).`,
    );
  }
}
