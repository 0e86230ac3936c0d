import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { decodeCheckpoint } from "../../checkpoint/data/checkpointCodec.ts";
import { freezeInPlace } from "../../internal/frozenCopy.ts";
import { askProvider } from "../../storage/checkpoints/readProviderCheckpoints.ts";
import { LogPersistenceStorageProvider } from "../../storage/LogPersistenceStorageProvider.ts";
import {
  filterCheckpoints,
  type CheckpointFilter,
  type PersistenceStorageProvider,
} from "../../storage/PersistenceStorageProvider.ts";

/** The checkpoints of an agent from any provider, decoded, oldest first. */
export async function readCheckpoints(
  provider: PersistenceStorageProvider<never>,
  agentId: string,
  filter?: CheckpointFilter,
): Promise<readonly AgentCheckpointData[]> {
  if (provider instanceof LogPersistenceStorageProvider) return provider.getCheckpoints(agentId, filter);
  // A provider of three methods may have a filter of its own; ours is applied here.
  const stored = await askProvider("getCheckpoints", agentId, () => provider.getCheckpoints(agentId));
  return filterCheckpoints(stored, filter).map((data) => freezeInPlace(decodeCheckpoint(data)));
}

/** The newest checkpoint of an agent from any provider, decoded; `undefined` when there is none. */
export async function readLatestCheckpoint(
  provider: PersistenceStorageProvider<never>,
  agentId: string,
): Promise<AgentCheckpointData | undefined> {
  if (provider instanceof LogPersistenceStorageProvider) return provider.getLatestCheckpoint(agentId);
  const latest = await askProvider("getLatestCheckpoint", agentId, () => provider.getLatestCheckpoint(agentId));
  return latest && freezeInPlace(decodeCheckpoint(latest));
}
