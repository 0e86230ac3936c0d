import { StopRequestedError } from "../../errors/run/StopRequestedError.ts";
import { StorageClosedError } from "../../errors/storage/StorageClosedError.ts";
import type { LogAppend, LogOwner, OwnedLog } from "../RecordLog.ts";
import type { MemoryAgentLog } from "./MemoryAgentLog.ts";

/** A log in memory that is owned: until it is released, dropped, or the storage closed. */
export class MemoryOwnedLog implements OwnedLog {
  readonly generation: number;
  readonly owner: LogOwner;
  readonly #log: MemoryAgentLog;
  readonly #lost = new AbortController();
  readonly #onRelease: () => void;
  #released = false;

  constructor(log: MemoryAgentLog, owner: LogOwner, generation: number, onRelease: () => void) {
    this.#log = log;
    this.owner = owner;
    this.generation = generation;
    this.#onRelease = onRelease;
  }

  get position(): number {
    return this.#log.position;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async append(entry: LogAppend, expectedPosition: number): Promise<number> {
    this.#assertOwned();
    return this.#log.append(entry, expectedPosition, this.generation);
  }

  async prune(): Promise<void> {
    this.#assertOwned();
    this.#log.prune();
  }

  async drop(): Promise<void> {
    this.#assertOwned();
    this.#log.clear();
    await this.release();
  }

  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    this.#onRelease();
  }

  requestStop(reason: string): void {
    this.#lost.abort(new StopRequestedError(this.#log.agentId, reason));
  }

  #assertOwned(): void {
    if (this.#released) throw new StorageClosedError(`The log of agent ${JSON.stringify(this.#log.agentId)}`);
  }
}
