import type { TornTail } from "../checkpoint/records/Entry.ts";
import type { LogAppend, OwnedLog, RebuiltSummary } from "./RecordLog.ts";

/** The base of an owned log that changes what the log below stores. It reports the state of that log. */
export abstract class OwnedLogWrapper implements OwnedLog {
  protected readonly owned: OwnedLog;

  constructor(owned: OwnedLog) {
    this.owned = owned;
  }

  get position(): number {
    return this.owned.position;
  }

  get generation(): number {
    return this.owned.generation;
  }

  get tornTail(): TornTail | undefined {
    return this.owned.tornTail;
  }

  get damage(): OwnedLog["damage"] {
    return this.owned.damage;
  }

  get rebuilt(): RebuiltSummary | undefined {
    return this.owned.rebuilt;
  }

  get lost(): AbortSignal {
    return this.owned.lost;
  }

  async checkStop(): Promise<void> {
    await this.owned.checkStop?.();
  }

  abstract append(entry: LogAppend, expectedPosition: number): Promise<number>;
  abstract prune(): Promise<void>;
  abstract drop(): Promise<void>;
  abstract release(): Promise<void>;
}
