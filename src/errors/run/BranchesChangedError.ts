import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quotedList } from "../quotedList.ts";
import { quoted } from "../quoted.ts";

/** A parallel node of a run that continues no longer has branches that had begun. Nothing was recorded, and no branch runs. */
export class BranchesChangedError extends AgentPersistenceError {
  override readonly code = "branches_changed";

  constructor(
    readonly agentId: string,
    /** The path of the parallel node. */
    readonly nodeId: string,
    /** The keys of the branches that had begun and that the node does not have now. */
    readonly missing: readonly string[],
    /** The keys of the branches that the node has now. */
    readonly keys: readonly string[],
  ) {
    super(
      `Node "${nodeId}" has begun the branches ${quotedList(missing)}, but its items now have the keys ${quotedList(keys) || "(none)"}. ` +
        `The key of an item must be the same each time: derive it from the item alone. ` +
        `Restore the earlier keys and resume. Or give up what the branches did: ` +
        `persistence(agent).agent(${quoted(agentId)}).setExecutionPoint({ nodeId: ${quoted(nodeId)}, input }).`,
    );
  }
}
