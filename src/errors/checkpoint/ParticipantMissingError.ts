import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/**
 * An interrupted rollback has remaining steps for a participant that the agent definition does not have. The rollback
 * stays open, and the stored state is unchanged.
 */
export class ParticipantMissingError extends AgentPersistenceError {
  override readonly code = "participant_missing";

  constructor(
    readonly agentId: string,
    /** The target of the rollback. */
    readonly checkpointId: string,
    readonly participant: string,
  ) {
    super(
      `The interrupted rollback of agent ${quoted(agentId)} to checkpoint ${quoted(checkpointId)} has remaining steps for ` +
        `participant ${quoted(participant)}, which this agent definition does not have. Add it to ` +
        "the option participants of install(Persistence, …), then run or resume again.",
    );
  }
}
