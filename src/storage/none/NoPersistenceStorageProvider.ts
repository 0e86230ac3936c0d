import type { Entry } from "../../checkpoint/records/Entry.ts";
import { PositionConflictError } from "../../errors/storageErrors.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import { type BlobStore, noBlobStore } from "../BlobStore.ts";
import { ProcessLog, ReleasableLog } from "../ReleasableLog.ts";
import { LogPersistenceStorageProvider } from "../LogPersistenceStorageProvider.ts";
import type { AgentSummary, LogAppend, LogCapabilities, LogOwner, OwnedLog, RecordLog } from "../RecordLog.ts";

/**
 * Stores no data. This is the default storage. Reads return empty results, and every rollback fails with
 * `checkpoint_not_found`. Does not pass the conformance suite for providers, which reads saved data back.
 */
export class NoPersistenceStorageProvider extends LogPersistenceStorageProvider {
  constructor() {
    super(new NoRecordLog());
  }
}

/** A log without storage. Every log is empty and free, and appends are acknowledged and discarded. */
export class NoRecordLog extends ProcessLog<NoOwnedLog> implements RecordLog {
  readonly capabilities: LogCapabilities = {
    durable: false,
    processes: "one",
    machines: "one",
    keeps: "nothing",
    listing: "exact",
    narrows: true,
  };
  readonly blobs: BlobStore = noBlobStore;

  constructor() {
    super("The storage that keeps nothing");
  }

  async open(agentId: string, owner: LogOwner): Promise<OwnedLog> {
    this.assertUsable(agentId);
    return new NoOwnedLog(agentId, owner, 1);
  }

  // oxlint-disable-next-line require-yield
  async *read(agentId: string): AsyncGenerator<Entry> {
    this.assertUsable(agentId);
  }

  // oxlint-disable-next-line require-yield
  async *list(): AsyncGenerator<AgentSummary> {
    this.assertOpen();
  }
}

/** Counts appends and discards them. */
class NoOwnedLog extends ReleasableLog implements OwnedLog {
  #position = 0;

  get position(): number {
    return this.#position;
  }

  async append(_entry: LogAppend, expectedPosition: number): Promise<number> {
    this.assertOwned();
    if (expectedPosition !== this.#position)
      throw new PositionConflictError(this.agentId, expectedPosition, this.#position);
    const position = ++this.#position;
    await nextTurn();
    return position;
  }

  async prune(): Promise<void> {
    this.assertOwned();
  }

  async drop(): Promise<void> {
    this.assertOwned();
    await this.release();
  }
}
