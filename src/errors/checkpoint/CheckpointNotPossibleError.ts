import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A checkpoint of the beginning of a visit was asked for after state from within the visit was saved. Nothing was saved. */
export class CheckpointNotPossibleError extends AgentPersistenceError {
  readonly code = "checkpoint_not_possible";
  readonly agentId: string;
  readonly nodeId: string;

  constructor(agentId: string, nodeId: string) {
    super(
      `The beginning of the present visit of node ${JSON.stringify(nodeId)} of agent ${JSON.stringify(agentId)} cannot be saved: ` +
        `a checkpoint with state from within the visit is saved already. Name the node that runs next: createCheckpoint({ nodeId, lastInput }).`,
    );
    this.agentId = agentId;
    this.nodeId = nodeId;
  }
}
