import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { decodeCheckpoint } from "../../checkpoint/data/checkpointCodec.ts";
import { freezeInPlace } from "../../internal/frozenCopy.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import { type LogStorage, offersLog } from "../LogStorage.ts";
import {
  filterCheckpoints,
  type CheckpointFilter,
  type PersistenceStorageProvider,
} from "../PersistenceStorageProvider.ts";
import { askProvider, checkpointsOf } from "./askProvider.ts";
import { CheckpointRecordLog } from "./CheckpointRecordLog.ts";

class CheckpointStorage implements LogStorage {
  readonly log: CheckpointRecordLog;
  readonly inlineThresholdBytes = Infinity;
  readonly compressThresholdBytes = Infinity;
  readonly #provider: PersistenceStorageProvider;

  constructor(provider: PersistenceStorageProvider) {
    this.#provider = provider;
    this.log = new CheckpointRecordLog(provider);
  }

  sha256(): Promise<Sha256> {
    return platformSha256();
  }

  async getCheckpoints(agentId: string, filter?: CheckpointFilter): Promise<readonly AgentCheckpointData[]> {
    // The filter type of the provider is unknown, so the filter is applied here.
    const stored = await checkpointsOf(this.#provider, agentId);
    return filterCheckpoints(stored, filter).map((data) => freezeInPlace(decodeCheckpoint(data)));
  }

  /** Finds the latest checkpoint of the main line. Reads all if the provider's latest belongs to a branch. */
  async getLatestCheckpoint(agentId: string): Promise<AgentCheckpointData | undefined> {
    const latest = await askProvider("getLatestCheckpoint", agentId, () => this.#provider.getLatestCheckpoint(agentId));
    if (!latest || latest.branch === undefined) return latest && freezeInPlace(decodeCheckpoint(latest));
    const { latestOnMainLine } = await import("./providerCheckpoints.ts");
    return latestOnMainLine(this.#provider, agentId, await this.sha256());
  }
}

/** Keeps one storage per provider, so that agents on the same provider detect each other. */
const known = new WeakMap<object, CheckpointStorage>();

export function logStorageOf(provider: PersistenceStorageProvider): LogStorage {
  if (offersLog(provider)) return provider;
  const storage = known.get(provider) ?? new CheckpointStorage(provider);
  known.set(provider, storage);
  return storage;
}
