import { PositionConflictError } from "../../errors/storage/PositionConflictError.ts";
import { StorageClosedError } from "../../errors/storage/StorageClosedError.ts";
import type { LogAppend, OwnedLog } from "../RecordLog.ts";

/** Counts appends and keeps none. */
export class NoOwnedLog implements OwnedLog {
  readonly generation = 1;
  readonly lost = new AbortController().signal;
  readonly #agentId: string;
  #position = 0;
  #released = false;

  constructor(agentId: string) {
    this.#agentId = agentId;
  }

  get position(): number {
    return this.#position;
  }

  async append(_entry: LogAppend, expectedPosition: number): Promise<number> {
    this.#assertOwned();
    if (expectedPosition !== this.#position)
      throw new PositionConflictError(this.#agentId, expectedPosition, this.#position);
    return ++this.#position;
  }

  async prune(_positions: readonly number[]): Promise<void> {
    this.#assertOwned();
  }

  async drop(): Promise<void> {
    this.#assertOwned();
    await this.release();
  }

  async release(): Promise<void> {
    this.#released = true;
  }

  #assertOwned(): void {
    if (this.#released) throw new StorageClosedError(`The log of agent ${JSON.stringify(this.#agentId)}`);
  }
}
