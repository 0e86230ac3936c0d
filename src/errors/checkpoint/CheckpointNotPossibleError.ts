import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/**
 * `createCheckpoint()` cannot save the start of the current node execution, because a checkpoint with state from within
 * that execution is already stored. The new checkpoint was not saved.
 */
export class CheckpointNotPossibleError extends AgentPersistenceError {
  override readonly code = "checkpoint_not_possible";

  constructor(
    readonly agentId: string,
    /** The path of the running node. */
    readonly nodeId: string,
  ) {
    super(
      `The start of node ${quoted(nodeId)} of agent ${quoted(agentId)} can no longer be saved, ` +
        `because a later state of the same execution is already saved. Pass the node that runs next: createCheckpoint({ nodeId, lastInput }).`,
    );
  }
}
