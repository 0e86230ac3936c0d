import { encodeCheckpoint } from "../../checkpoint/data/checkpointCodec.ts";
import { checkpointData } from "../../checkpoint/data/checkpointData.ts";
import type { Entry } from "../../checkpoint/records/Entry.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { PositionConflictError } from "../../errors/storage/PositionConflictError.ts";
import { StopRequestedError } from "../../errors/run/StopRequestedError.ts";
import { StorageClosedError } from "../../errors/storage/StorageClosedError.ts";
import type { PersistenceStorageProvider } from "../PersistenceStorageProvider.ts";
import type { LogAppend, OwnedLog } from "../RecordLog.ts";
import { askProvider, type StoredCheckpoints } from "./readProviderCheckpoints.ts";

/** An agent of a provider of three methods while this process runs it: appends are kept here, checkpoints go to the provider. */
export class CheckpointOwnedLog implements OwnedLog {
  readonly generation: number;
  readonly entries: Entry[];
  readonly #provider: PersistenceStorageProvider;
  readonly #agentId: string;
  readonly #index: LogProjection;
  readonly #lost = new AbortController();
  readonly #onRelease: () => void;
  #released = false;

  constructor(provider: PersistenceStorageProvider, agentId: string, stored: StoredCheckpoints, onRelease: () => void) {
    this.#provider = provider;
    this.#agentId = agentId;
    this.entries = stored.entries;
    this.#index = stored.index;
    this.generation = stored.generation;
    this.#onRelease = onRelease;
  }

  get position(): number {
    return this.entries.length;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async append({ id, records }: LogAppend, expectedPosition: number): Promise<number> {
    if (this.#released) throw new StorageClosedError(`The log of agent ${JSON.stringify(this.#agentId)}`);
    const last = this.entries.at(-1);
    if (last?.id === id && last.position === expectedPosition + 1) return last.position;
    if (expectedPosition !== this.position)
      throw new PositionConflictError(this.#agentId, expectedPosition, this.position);
    const entry: Entry = {
      position: this.position + 1,
      generation: this.generation,
      id,
      records,
      checksum: "",
      prev: "",
    };
    const before = this.#index.nextVersion;
    this.#index.add(entry);
    for (const point of this.#index.checkpoints.values()) {
      if (point.version < before) continue;
      const data = encodeCheckpoint(checkpointData(this.#agentId, this.#index, point, "", new Map()));
      await askProvider("saveCheckpoint", this.#agentId, () => this.#provider.saveCheckpoint(this.#agentId, data));
    }
    this.entries.push(entry);
    return entry.position;
  }

  /** Nothing to remove: what is pruned here lives in this process only. */
  async prune(): Promise<void> {}

  /** Three methods cannot delete. */
  async drop(): Promise<void> {
    await this.release();
  }

  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    this.#onRelease();
  }

  requestStop(reason: string): void {
    this.#lost.abort(new StopRequestedError(this.#agentId, reason));
  }
}
