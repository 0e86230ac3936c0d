import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/**
 * A rollback that was cut short has steps left for a participant that this agent definition does not have. Nothing has
 * changed; the rollback stays open.
 */
export class ParticipantMissingError extends AgentPersistenceError {
  readonly code = "participant_missing";
  readonly agentId: string;
  readonly checkpointId: string;
  /** The key of the participant. */
  readonly participant: string;

  constructor(agentId: string, checkpointId: string, participant: string) {
    super(
      `The rollback of agent ${JSON.stringify(agentId)} to checkpoint ${JSON.stringify(checkpointId)} has steps left for ` +
        `participant ${JSON.stringify(participant)}, which is not among the participants of this definition. Add it to ` +
        "the option participants of install(Persistence, …), then run or resume again.",
    );
    this.agentId = agentId;
    this.checkpointId = checkpointId;
    this.participant = participant;
  }
}
