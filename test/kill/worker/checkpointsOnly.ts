import type { PersistenceStorageProvider } from "agent-persistence";

/** A storage as a provider of three methods: checkpoints only, so nothing tells which calls a crashed node had made. */
export function checkpointsOnly(storage: PersistenceStorageProvider): PersistenceStorageProvider {
  return {
    getCheckpoints: (agentId) => storage.getCheckpoints(agentId),
    saveCheckpoint: (agentId, checkpoint) => storage.saveCheckpoint(agentId, checkpoint),
    getLatestCheckpoint: (agentId) => storage.getLatestCheckpoint(agentId),
  };
}
