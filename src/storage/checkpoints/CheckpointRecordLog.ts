import { linePath } from "../../checkpoint/data/linePath.ts";
import { wholeRecords } from "../../checkpoint/format/leanRecords.ts";
import type { Entry } from "../../checkpoint/records/Entry.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { AgentPersistenceError, quoted } from "../../errors/AgentPersistenceError.ts";
import { AgentBusyError, PositionConflictError, StorageError } from "../../errors/storageErrors.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import { kindOf } from "../../internal/options/optionSchemas.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import { noBlobStore } from "../BlobStore.ts";
import {
  type PersistenceStorageProvider,
  filterCheckpoints,
  type CheckpointFilter,
  type LogStorage,
  offersLog,
} from "../PersistenceStorageProvider.ts";
import { ProcessLog, ReleasableLog } from "../ReleasableLog.ts";
import type {
  AgentSummary,
  LogAppend,
  LogCapabilities,
  LogOwner,
  OwnedLog,
  ReadOptions,
  RecordLog,
} from "../RecordLog.ts";
import type { ProviderCheckpoints } from "./providerCheckpoints.ts";
import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { decodeCheckpoint } from "../../checkpoint/data/checkpointCodec.ts";
import { freezeInPlace } from "../../internal/frozenCopy.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";

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
      const stored = await this.#read(agentId);
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
    const owned = this.owned.get(agentId);
    const entries = owned ? owned.entries : (await this.#read(agentId)).entries;
    for (const entry of entries.slice()) if (entry.position > after && entry.position <= upTo) yield entry;
  }

  /** Yields no agents, because a three-method provider cannot list them. */
  // oxlint-disable-next-line require-yield
  async *list(): AsyncGenerator<AgentSummary> {
    this.assertOpen();
  }

  async #read(agentId: string): Promise<ProviderCheckpoints> {
    const { readProviderCheckpoints } = await import("./providerCheckpoints.ts");
    return readProviderCheckpoints(await checkpointsOf(this.#provider, agentId), agentId, await platformSha256());
  }
}

/** The log of a running agent of a three-method provider, in memory. Checkpoints go to the provider. */
class CheckpointOwnedLog extends ReleasableLog implements OwnedLog {
  readonly entries: Entry[];
  readonly #provider: PersistenceStorageProvider;
  readonly #index: LogProjection;
  readonly #dataOf: ProviderCheckpoints["dataOf"];
  /** Set after a failed append, because the index then has more than the provider. */
  #failure: { readonly error: unknown } | undefined;

  constructor(
    provider: PersistenceStorageProvider,
    { entries, index, generation, dataOf }: ProviderCheckpoints,
    agentId: string,
    owner: LogOwner,
    onRelease: () => void,
  ) {
    super(agentId, owner, generation, onRelease);
    this.#provider = provider;
    this.entries = entries;
    this.#index = index;
    this.#dataOf = dataOf;
  }

  get position(): number {
    return this.entries.length;
  }

  async append({ id, records }: LogAppend, expectedPosition: number): Promise<number> {
    this.assertOwned();
    if (this.#failure) throw this.#failure.error;
    const last = this.entries.at(-1);
    if (last?.id === id && last.position === expectedPosition + 1) return last.position;
    if (expectedPosition !== this.position)
      throw new PositionConflictError(this.agentId, expectedPosition, this.position);
    const entry: Entry = {
      position: this.position + 1,
      generation: this.generation,
      id,
      records: wholeRecords(records),
      checksum: "",
      prev: "",
    };
    try {
      await this.#save(entry);
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
    this.entries.push(entry);
    await nextTurn();
    return entry.position;
  }

  async #save(entry: Entry): Promise<void> {
    const before = this.#index.nextVersion;
    this.#index.add(entry);
    for (const point of this.#index.checkpoints.values()) {
      if (point.version < before || !canContinue(this.#index, point)) continue;
      const data = this.#dataOf(point);
      await askProvider("saveCheckpoint", this.agentId, () => this.#provider.saveCheckpoint(this.agentId, data));
    }
  }

  /** Does nothing, because pruned appends exist only in this process. */
  async prune(): Promise<void> {}

  /** Only releases the log, because three methods cannot delete. */
  async drop(): Promise<void> {
    await this.release();
  }
}

/**
 * Whether the provider keeps the checkpoint. `false` for a checkpoint of a sub-agent: the records between two
 * checkpoints of its caller are lost, so the sub-agent restarts with the node of the caller.
 */
function canContinue(index: LogProjection, { record }: CheckpointPoint): boolean {
  return linePath(index, record.lane).agentPath.length === 0;
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
    // The filter type of the provider is unknown, so the filter is applied here.
    const stored = await checkpointsOf(this.#provider, agentId);
    return filterCheckpoints(stored, filter).map((data) => freezeInPlace(decodeCheckpoint(data)));
  }

  /** Finds the latest checkpoint of the main line. Reads all checkpoints if the latest one belongs to a branch. */
  async getLatestCheckpoint(agentId: string): Promise<AgentCheckpointData | undefined> {
    const latest = await askProvider("getLatestCheckpoint", agentId, () => this.#provider.getLatestCheckpoint(agentId));
    if (!latest || latest.branch === undefined) return latest && freezeInPlace(decodeCheckpoint(latest));
    const { latestOnMainLine } = await import("./providerCheckpoints.ts");
    return latestOnMainLine(await checkpointsOf(this.#provider, agentId), agentId, await this.sha256());
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

/** Returns the checkpoints of a provider. @throws UnreadableValueError if the provider does not return an array. */
async function checkpointsOf(
  provider: PersistenceStorageProvider,
  agentId: string,
): Promise<readonly AgentCheckpointData[]> {
  const stored: unknown = await askProvider("getCheckpoints", agentId, () => provider.getCheckpoints(agentId));
  if (Array.isArray(stored)) return stored as readonly AgentCheckpointData[];
  throw new UnreadableValueError(
    `getCheckpoints() of the storage must return an array of checkpoints, but returned ${kindOf(stored)}`,
  );
}

/** Calls a method of a provider. Wraps foreign errors in a typed error that names the call. */
async function askProvider<Result>(operation: string, agentId: string, call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    if (AgentPersistenceError.isInstance(error)) throw error;
    throw new StorageError("unavailable", operation, `agent ${quoted(agentId)}`, {
      cause: error,
      advice: `Fix the cause, and resume the agent: ${reasonOf(error)}`,
    });
  }
}
