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
import { AgentBusyError } from "../../errors/storage/AgentBusyError.ts";
import { PositionConflictError } from "../../errors/storage/PositionConflictError.ts";
import { StorageClosedError } from "../../errors/storage/StorageClosedError.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import { kindOf } from "../../internal/options/optionSchemas.ts";
import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { StorageError } from "../../errors/storage/StorageError.ts";
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
 * A log over a three-method provider: each checkpoint is handed to it whole, and the log is made from its checkpoints
 * when an agent is opened. What lies between two checkpoints is forgotten with the process, owners of other processes are
 * not seen, and agents cannot be listed.
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

  /** Nothing: three methods cannot tell which agents there are. */
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

/** An agent of a three-method provider while this process runs it: appends are kept here, checkpoints go to the provider. */
export class CheckpointOwnedLog extends ReleasableLog implements OwnedLog {
  readonly entries: Entry[];
  readonly #provider: PersistenceStorageProvider;
  readonly #index: LogProjection;

  constructor(
    provider: PersistenceStorageProvider,
    { entries, index, generation }: StoredCheckpoints,
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

  /** Nothing to remove: what is pruned here lives in this process only. */
  async prune(): Promise<void> {}

  /** Three methods cannot delete. */
  async drop(): Promise<void> {
    await this.release();
  }
}

/** A sub-agent runs within a node, which runs again: what lies between two checkpoints of its caller is forgotten. */
function canContinue(index: LogProjection, { record }: CheckpointPoint): boolean {
  return linePath(index, record.lane).agentPath.length === 0;
}

/** An agent's checkpoints as a log of one append each. */
export interface StoredCheckpoints {
  readonly entries: Entry[];
  readonly index: LogProjection;
  /** The next owner's: above that of every generated checkpoint id. */
  readonly generation: number;
}

/** Reads all checkpoints of an agent from a three-method provider and makes a log of them. */
export async function readProviderCheckpoints(
  provider: PersistenceStorageProvider,
  agentId: string,
  sha256: Sha256,
): Promise<StoredCheckpoints> {
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

/** What a provider has of an agent. @throws UnreadableValueError when it is no list. */
export async function checkpointsOf(
  provider: PersistenceStorageProvider,
  agentId: string,
): Promise<readonly AgentCheckpointData[]> {
  const stored: unknown = await askProvider("getCheckpoints", agentId, () => provider.getCheckpoints(agentId));
  if (Array.isArray(stored)) return stored as readonly AgentCheckpointData[];
  throw new UnreadableValueError(
    `getCheckpoints() of the storage must give a list of checkpoints, and gave ${kindOf(stored)}`,
  );
}

/** What a user's provider throws becomes a typed error that names the call, unless it is one of ours. */
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
