import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/**
 * `createCheckpoint()` was to save the start of the current visit after a checkpoint with state from within that visit
 * was saved. Nothing was saved.
 */
export class CheckpointNotPossibleError extends AgentPersistenceError {
  override readonly code = "checkpoint_not_possible";

  constructor(
    readonly agentId: string,
    /** The path of the node that is running. */
    readonly nodeId: string,
  ) {
    super(
      `The start of the current visit of node ${quoted(nodeId)} of agent ${quoted(agentId)} can no longer be saved: ` +
        `a checkpoint with state from within the visit is already saved. Name the node that runs next: createCheckpoint({ nodeId, lastInput }).`,
    );
  }
}
