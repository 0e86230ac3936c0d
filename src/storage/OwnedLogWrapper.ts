import type { TornTail } from "../checkpoint/records/Entry.ts";
import { Mutex } from "../internal/Mutex.ts";
import type { LogAppend, OwnedLog, RebuiltSummary } from "./RecordLog.ts";

/** The base of an owned log that stores changed data in the log below. It reports the state of that log. */
export abstract class OwnedLogWrapper implements OwnedLog {
  protected readonly owned: OwnedLog;
  protected readonly turns = new Mutex();
  protected failed: { readonly error: unknown } | undefined;
  protected readonly onEnd: () => void;

  /** @param onEnd - called before the log is released. */
  constructor(owned: OwnedLog, onEnd: () => void) {
    this.owned = owned;
    this.onEnd = onEnd;
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

  prune(): Promise<void> {
    return this.turns.runExclusive(() => this.owned.prune());
  }

  release(): Promise<void> {
    return this.turns.runExclusive(async () => {
      this.onEnd();
      await this.owned.release();
    });
  }

  abstract append(entry: LogAppend, expectedPosition: number): Promise<number>;
  abstract drop(): Promise<void>;

  /** After a failure, the end of the log is unknown, and no later append may be stored. */
  protected async orFail<Result>(action: () => Promise<Result>): Promise<Result> {
    if (this.failed) throw this.failed.error;
    try {
      return await action();
    } catch (error) {
      this.failed = { error };
      throw error;
    }
  }
}
