import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { decodeCheckpoint } from "../../checkpoint/data/checkpointCodec.ts";
import { checkpointData } from "../../checkpoint/data/checkpointData.ts";
import { freezeInPlace } from "../../internal/copy/frozenCopy.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import { type LogStorage, offersLog } from "../LogStorage.ts";
import {
  filterCheckpoints,
  type CheckpointFilter,
  type PersistenceStorageProvider,
} from "../PersistenceStorageProvider.ts";
import { askProvider, CheckpointRecordLog, checkpointsOf, readProviderCheckpoints } from "./CheckpointRecordLog.ts";

/** A three-method provider as a storage with a log. */
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
    // The provider's filter is its own type, so ours is applied here.
    const stored = await checkpointsOf(this.#provider, agentId);
    return filterCheckpoints(stored, filter).map((data) => freezeInPlace(decodeCheckpoint(data)));
  }

  /** The one that the provider gives may be of a branch. */
  async getLatestCheckpoint(agentId: string): Promise<AgentCheckpointData | undefined> {
    const latest = await askProvider("getLatestCheckpoint", agentId, () => this.#provider.getLatestCheckpoint(agentId));
    if (!latest || latest.branch === undefined) return latest && freezeInPlace(decodeCheckpoint(latest));
    const { index } = await readProviderCheckpoints(this.#provider, agentId, await this.sha256());
    return index.latest && checkpointData(agentId, index, index.latest, "", new Map());
  }
}

/** One storage for each provider, so that two agents on a provider see each other. */
const known = new WeakMap<object, CheckpointStorage>();

/** The provider itself when it offers a log; otherwise a log over its three methods. */
export function logStorageOf(provider: PersistenceStorageProvider): LogStorage {
  if (offersLog(provider)) return provider;
  const storage = known.get(provider) ?? new CheckpointStorage(provider);
  known.set(provider, storage);
  return storage;
}
