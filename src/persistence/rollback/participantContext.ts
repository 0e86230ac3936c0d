import type { ParticipantContext } from "../../journal/RollbackParticipant.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";

export function participantContext(setup: PersistenceSetup): ParticipantContext {
  const { folder } = setup.log.capabilities;
  const participants = () => import("./participants.ts");
  return {
    get agentId() {
      return setup.lastAgentId;
    },
    ...(folder !== undefined && { storageFolder: folder }),
    request: async (...of) => (await participants()).participantRequestAt(setup, ...of),
    notesBefore: async (...of) => (await participants()).participantNotesBefore(setup, ...of),
    content: async (...of) => (await participants()).participantContent(setup, ...of),
  };
}
