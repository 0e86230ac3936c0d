import { decodeCheckpoint, encodeCheckpoint } from "../../checkpoint/data/checkpointCodec.ts";
import { checkpointData } from "../../checkpoint/data/checkpointData.ts";
import { importCheckpoint } from "../../checkpoint/data/importCheckpoint.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";
import { wholeRecords } from "../../checkpoint/format/leanRecords.ts";
import { ValueWriter } from "../../checkpoint/format/ValueWriter.ts";
import type { Entry } from "../../checkpoint/records/Entry.ts";
import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { AgentBusyError, PositionConflictError, StorageClosedError, StorageError } from "../../errors/storageErrors.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import { kindOf } from "../../internal/options/optionSchemas.ts";
import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import { noBlobStore } from "../BlobStore.ts";
import type { PersistenceStorageProvider } from "../PersistenceStorageProvider.ts";
import { ReleasableLog } from "../ReleasableLog.ts";
import type {
  AgentSummary,
  LogAppend,
  LogCapabilities,
  LogOwner,
  OwnedLog,
  ReadOptions,
  RecordLog,
} from "../RecordLog.ts";
import { quoted } from "../../errors/quoted.ts";

const retryAfterMs = 1_000;

/**
 * A log on top of a three-method provider. Each checkpoint is passed to the provider, and opening an agent rebuilds the
 * log from its checkpoints. Records between two checkpoints are lost when the process exits. Owners in other processes
 * are not detected, and agents cannot be listed.
 */
export class CheckpointRecordLog implements RecordLog {
  readonly version = "v1";
  readonly capabilities: LogCapabilities = { durable: true, processes: "one", machines: "one", keeps: "checkpoints" };
  readonly blobs = noBlobStore;
  readonly #provider: PersistenceStorageProvider;
  readonly #owned = new Map<string, CheckpointOwnedLog>();
  readonly #opening = new Set<string>();
  #closed = false;

  constructor(provider: PersistenceStorageProvider) {
    this.#provider = provider;
  }

  async open(agentId: string, owner: LogOwner): Promise<OwnedLog> {
    this.#assertUsable(agentId);
    const busy = this.#owned.get(agentId);
    if (busy || this.#opening.has(agentId)) {
      throw new AgentBusyError(agentId, { ...(busy?.owner ?? owner), generation: busy?.generation ?? 0 }, retryAfterMs);
    }
    this.#opening.add(agentId);
    try {
      const stored = await readProviderCheckpoints(this.#provider, agentId, await this.#sha256());
      const log = new CheckpointOwnedLog(this.#provider, stored, agentId, { ...owner }, () =>
        this.#owned.delete(agentId),
      );
      this.#owned.set(agentId, log);
      return log;
    } finally {
      this.#opening.delete(agentId);
    }
  }

  async *read(agentId: string, { after = 0, upTo = Infinity }: ReadOptions = {}): AsyncGenerator<Entry> {
    this.#assertUsable(agentId);
    const owned = this.#owned.get(agentId);
    const entries = owned
      ? owned.entries
      : (await readProviderCheckpoints(this.#provider, agentId, await this.#sha256())).entries;
    for (const entry of entries.slice()) if (entry.position > after && entry.position <= upTo) yield entry;
  }

  /** Yields no agents, because a three-method provider cannot list them. */
  // oxlint-disable-next-line require-yield
  async *list(): AsyncGenerator<AgentSummary> {
    if (this.#closed) throw new StorageClosedError("The storage");
  }

  async owner(agentId: string): ReturnType<RecordLog["owner"]> {
    this.#assertUsable(agentId);
    const owned = this.#owned.get(agentId);
    return owned && { ...owned.owner, generation: owned.generation, state: "alive" };
  }

  async requestStop(agentId: string, reason: string): Promise<void> {
    this.#assertUsable(agentId);
    this.#owned.get(agentId)?.requestStop(reason);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#owned.values()].map((log) => log.release()));
  }

  #sha256(): Promise<Sha256> {
    return platformSha256();
  }

  #assertUsable(agentId: string): void {
    if (this.#closed) throw new StorageClosedError("The storage");
    assertAgentId(agentId);
  }
}

/**
 * The log of a running agent of a three-method provider. Appends stay in memory, and checkpoints go to the provider.
 */
export class CheckpointOwnedLog extends ReleasableLog implements OwnedLog {
  readonly entries: Entry[];
  readonly #provider: PersistenceStorageProvider;
  readonly #index: LogProjection;

  constructor(
    provider: PersistenceStorageProvider,
    { entries, index, generation }: ProviderCheckpoints,
    agentId: string,
    owner: LogOwner,
    onRelease: () => void,
  ) {
    super(agentId, owner, generation, onRelease);
    this.#provider = provider;
    this.entries = entries;
    this.#index = index;
  }

  get position(): number {
    return this.entries.length;
  }

  async append({ id, records }: LogAppend, expectedPosition: number): Promise<number> {
    this.assertOwned();
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
    const before = this.#index.nextVersion;
    this.#index.add(entry);
    for (const point of this.#index.checkpoints.values()) {
      if (point.version < before || !canContinue(this.#index, point)) continue;
      const data = encodeCheckpoint(checkpointData(this.agentId, this.#index, point, "", new Map()));
      await askProvider("saveCheckpoint", this.agentId, () => this.#provider.saveCheckpoint(this.agentId, data));
    }
    this.entries.push(entry);
    await nextTurn();
    return entry.position;
  }

  /** Does nothing, because pruned appends exist only in this process. */
  async prune(): Promise<void> {}

  /** Only releases the log, because three methods cannot delete. */
  async drop(): Promise<void> {
    await this.release();
  }
}

/**
 * Returns `false` for a checkpoint of a sub-agent. A sub-agent restarts with the node of its caller, because records
 * between two checkpoints of the caller are lost.
 */
function canContinue(index: LogProjection, { record }: CheckpointPoint): boolean {
  return linePath(index, record.lane).agentPath.length === 0;
}

export interface ProviderCheckpoints {
  readonly entries: Entry[];
  readonly index: LogProjection;
  /** The generation of the next owner, above the generations in all generated checkpoint ids. */
  readonly generation: number;
}

export async function readProviderCheckpoints(
  provider: PersistenceStorageProvider,
  agentId: string,
  sha256: Sha256,
): Promise<ProviderCheckpoints> {
  const stored = await checkpointsOf(provider, agentId);
  const index = new LogProjection();
  const writer = new ValueWriter({ sha256, inlineThresholdBytes: Infinity });
  const entries: Entry[] = [];
  for (const data of stored) {
    const records = importCheckpoint(decodeCheckpoint(data), index, new Map(), writer);
    const entry = {
      position: entries.length + 1,
      generation: 1,
      id: `stored-${data.checkpointId}`,
      records,
      checksum: "",
      prev: "",
    };
    index.add(entry);
    entries.push(entry);
  }
  const generations = stored.map(({ checkpointId }) => Number(/^(\d{1,15})-\d+$/.exec(checkpointId)?.[1] ?? 0));
  return { entries, index, generation: Math.max(0, ...generations) + 1 };
}

/** Returns the checkpoints of a provider. @throws UnreadableValueError if the provider does not return an array. */
export async function checkpointsOf(
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
export async function askProvider<Result>(
  operation: string,
  agentId: string,
  call: () => Promise<Result>,
): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    if (AgentPersistenceError.isInstance(error)) throw error;
    throw new StorageError("unavailable", operation, `agent ${quoted(agentId)}`, { cause: error });
  }
}
