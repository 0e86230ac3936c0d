import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/**
 * An interrupted rollback has steps left for a participant that this agent definition does not have. Nothing has
 * changed; the rollback stays open.
 */
export class ParticipantMissingError extends AgentPersistenceError {
  override readonly code = "participant_missing";

  constructor(
    readonly agentId: string,
    /** The checkpoint that the rollback goes to. */
    readonly checkpointId: string,
    readonly participant: string,
  ) {
    super(
      `The interrupted rollback of agent ${quoted(agentId)} to checkpoint ${quoted(checkpointId)} has steps left for ` +
        `participant ${quoted(participant)}, which this agent definition does not have. Add it to ` +
        "the option participants of install(Persistence, …), then run or resume again.",
    );
  }
}
