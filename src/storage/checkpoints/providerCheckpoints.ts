import { AgentLog } from "../AgentLog.ts";
import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { decodeCheckpoint, encodeCheckpoint } from "../../checkpoint/data/checkpointCodec.ts";
import { checkpointData } from "../../checkpoint/data/checkpointData.ts";
import { importCheckpoint } from "../../checkpoint/data/importCheckpoint.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";
import { ValueWriter } from "../../checkpoint/format/ValueWriter.ts";
import { wholeRecords } from "../../checkpoint/format/leanRecords.ts";
import type { Entry } from "../../checkpoint/records/Entry.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { AgentPersistenceError, quoted } from "../../errors/AgentPersistenceError.ts";
import { PositionConflictError, StorageError } from "../../errors/storageErrors.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { freezeInPlace } from "../../internal/frozenCopy.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import { kindOf } from "../../internal/options/optionSchemas.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import {
  type CheckpointFilter,
  filterCheckpoints,
  type PersistenceStorageProvider,
} from "../PersistenceStorageProvider.ts";
import type { LogAppend, LogOwner, OwnedLog } from "../RecordLog.ts";
import { ReleasableLog } from "../ReleasableLog.ts";

export interface ProviderCheckpoints {
  readonly entries: Entry[];
  readonly index: LogProjection;
  /** The generation of the next owner, above the generations in all generated checkpoint ids. */
  readonly generation: number;
  /** Returns a checkpoint as the provider stores it. */
  readonly dataOf: (point: CheckpointPoint) => AgentCheckpointData;
}

/** Rebuilds the log of an agent from its checkpoints. */
export async function readProvider(
  provider: PersistenceStorageProvider,
  agentId: string,
): Promise<ProviderCheckpoints> {
  const stored = await storedCheckpoints(provider, agentId);
  const sha256 = await platformSha256();
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
  const log = new AgentLog(agentId, index, new Map());
  return {
    entries,
    index,
    generation: Math.max(0, ...generations) + 1,
    dataOf: (point) => encodeCheckpoint(checkpointData(log, point)),
  };
}

export async function checkpointsOf(
  provider: PersistenceStorageProvider,
  agentId: string,
  filter: CheckpointFilter | undefined,
): Promise<readonly AgentCheckpointData[]> {
  // The filter type of the provider is unknown, so the filter is applied here.
  const found = filterCheckpoints(await storedCheckpoints(provider, agentId), filter);
  return found.map((data) => freezeInPlace(decodeCheckpoint(data)));
}

/** Reads all checkpoints, because the latest checkpoint of the main line lists its open branches. */
export async function latestOf(
  provider: PersistenceStorageProvider,
  agentId: string,
): Promise<AgentCheckpointData | undefined> {
  const { index } = await readProvider(provider, agentId);
  return index.latest && checkpointData(new AgentLog(agentId, index, new Map()), index.latest);
}

/** The log of a running agent of a three-method provider, in memory. Checkpoints go to the provider. */
export class CheckpointOwnedLog extends ReleasableLog implements OwnedLog {
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

/** Returns the checkpoints of a provider. @throws UnreadableValueError if the provider does not return an array. */
async function storedCheckpoints(
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
