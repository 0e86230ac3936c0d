import type { ParticipantContext } from "../../journal/RollbackParticipant.ts";
import { notesBefore } from "../../journal/notesAround.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import { findRollbackTarget } from "../move/findCheckpoint.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { participantRequest, noteOf } from "./planParticipants.ts";

/** What the participants of a definition may ask about its agents. */
export function participantContext(setup: PersistenceSetup): ParticipantContext {
  return {
    get agentId() {
      return setup.lastAgentId;
    },
    async request(agentId, checkpointId, key) {
      const log = await AgentLog.read(setup.log, agentId);
      const target = findRollbackTarget(agentId, log.index, checkpointId);
      const { signal } = new AbortController();
      return participantRequest({
        log,
        target,
        key,
        blobs: setup.log.blobs,
        sha256: await setup.storage.sha256(),
        signal,
      });
    },
    async notesBefore(agentId, checkpointId, key) {
      const log = await AgentLog.read(setup.log, agentId);
      const target = findRollbackTarget(agentId, log.index, checkpointId);
      return notesBefore(log.index, target, key).map((record) => noteOf(record, log));
    },
  };
}
