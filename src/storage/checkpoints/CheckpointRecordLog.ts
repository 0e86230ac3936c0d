import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import type { Entry } from "../../checkpoint/records/Entry.ts";
import { AgentBusyError } from "../../errors/storageErrors.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import { noBlobStore } from "../BlobStore.ts";
import {
  type CheckpointFilter,
  type LogStorage,
  offersLog,
  type PersistenceStorageProvider,
} from "../PersistenceStorageProvider.ts";
import { ProcessLog } from "../ReleasableLog.ts";
import type { AgentSummary, LogCapabilities, LogOwner, OwnedLog, ReadOptions, RecordLog } from "../RecordLog.ts";
import type { CheckpointOwnedLog } from "./providerCheckpoints.ts";

const retryAfterMs = 1_000;

/**
 * A log on top of a three-method provider. Each checkpoint is passed to the provider, and opening an agent rebuilds the
 * log from its checkpoints. Records between two checkpoints are lost when the process exits. Owners in other processes
 * are not detected, and agents cannot be listed.
 */
export class CheckpointRecordLog extends ProcessLog<CheckpointOwnedLog> implements RecordLog {
  readonly capabilities: LogCapabilities = { durable: true, processes: "one", machines: "one", keeps: "checkpoints" };
  readonly blobs = noBlobStore;
  readonly #provider: PersistenceStorageProvider;
  readonly #opening = new Set<string>();

  constructor(provider: PersistenceStorageProvider) {
    super("The storage");
    this.#provider = provider;
  }

  async open(agentId: string, owner: LogOwner): Promise<OwnedLog> {
    this.assertUsable(agentId);
    const busy = this.owned.get(agentId);
    if (busy || this.#opening.has(agentId)) {
      throw new AgentBusyError(agentId, { ...(busy?.owner ?? owner), generation: busy?.generation ?? 0 }, retryAfterMs);
    }
    this.#opening.add(agentId);
    try {
      const { CheckpointOwnedLog, readProvider } = await providerCheckpoints();
      const stored = await readProvider(this.#provider, agentId);
      this.assertOpen();
      const log = new CheckpointOwnedLog(this.#provider, stored, agentId, { ...owner }, () =>
        this.owned.delete(agentId),
      );
      this.owned.set(agentId, log);
      return log;
    } finally {
      this.#opening.delete(agentId);
    }
  }

  async *read(agentId: string, { after = 0, upTo = Infinity }: ReadOptions = {}): AsyncGenerator<Entry> {
    this.assertUsable(agentId);
    const { readProvider } = await providerCheckpoints();
    const { entries } = this.owned.get(agentId) ?? (await readProvider(this.#provider, agentId));
    for (const entry of entries.slice()) if (entry.position > after && entry.position <= upTo) yield entry;
  }

  /** Yields no agents, because a three-method provider cannot list them. */
  // oxlint-disable-next-line require-yield
  async *list(): AsyncGenerator<AgentSummary> {
    this.assertOpen();
  }
}

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
    return (await providerCheckpoints()).checkpointsOf(this.#provider, agentId, filter);
  }

  async getLatestCheckpoint(agentId: string): Promise<AgentCheckpointData | undefined> {
    return (await providerCheckpoints()).latestOf(this.#provider, agentId);
  }
}

/** Loads the code of three-method providers, which few applications use. */
const providerCheckpoints = () => import("./providerCheckpoints.ts");

/** Keeps one storage per provider, so that agents on the same provider detect each other. */
const known = new WeakMap<object, CheckpointStorage>();

export function logStorageOf(provider: PersistenceStorageProvider): LogStorage {
  if (offersLog(provider)) return provider;
  const storage = known.get(provider) ?? new CheckpointStorage(provider);
  known.set(provider, storage);
  return storage;
}
