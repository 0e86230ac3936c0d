import { Mutex } from "../../internal/Mutex.ts";
import { OwnedLogWrapper } from "../../storage/OwnedLogWrapper.ts";
import { RestoredStop } from "../../storage/RestoredStop.ts";
import type { LogAppend, OwnedLog } from "../../storage/RecordLog.ts";
import type { RedactedAppend } from "./AppendRedactor.ts";

/** The parts of a redacted log that its owner uses. */
export interface RedactedLogContext {
  readonly redact: (append: LogAppend) => RedactedAppend;
  /** Learns the secrets of blobs. */
  readonly readBlobs: (references: readonly string[]) => Promise<void>;
  /** Encrypts the hidden values of an append. */
  readonly encrypt: (redacted: RedactedAppend) => Promise<LogAppend>;
  /** Returns the id of the key that is destroyed with the data. `undefined` if there is none. */
  readonly keyId: () => Promise<string | undefined>;
  /** Returns the reason of a request to stop. */
  readonly openReason: (reason: string) => Promise<string>;
  readonly dropped: (keyId: string) => Promise<void>;
  readonly ended: () => void;
}

/** A redacted log that this process owns. */
export class RedactedOwnedLog extends OwnedLogWrapper {
  readonly #context: RedactedLogContext;
  readonly #turns = new Mutex();
  readonly #stop: RestoredStop;
  #waiting = 0;
  /** The appends that wait for the secrets of blobs. Later appends can repeat the secrets. */
  #reading = 0;
  #failed: { readonly error: unknown } | undefined;

  constructor(agentId: string, owned: OwnedLog, context: RedactedLogContext) {
    super(owned);
    this.#context = context;
    this.#stop = new RestoredStop(agentId, owned, context.openReason);
  }

  override get lost(): AbortSignal {
    return this.#stop.signal;
  }

  override async checkStop(): Promise<void> {
    await super.checkStop();
    await this.#stop.told();
  }

  async append(entry: LogAppend, expectedPosition: number): Promise<number> {
    if (this.#failed) throw this.#failed.error;
    const redacted = this.#redacted(entry);
    if (redacted.unread.length > 0 || this.#reading > 0)
      return this.#appendRead(entry, expectedPosition, redacted.unread);
    if (redacted.hidden.length === 0 && this.#waiting === 0) return this.owned.append(entry, expectedPosition);
    // Copies the entry before the first await, because the caller may change it afterwards.
    const copy = redacted.hidden.length > 0 ? redacted : { ...redacted, append: structuredClone(entry) };
    this.#waiting++;
    return this.#turns.runExclusive(async () => {
      try {
        if (this.#failed) throw this.#failed.error;
        return await this.owned.append(await this.#orFail(() => this.#context.encrypt(copy)), expectedPosition);
      } finally {
        this.#waiting--;
      }
    });
  }

  async #appendRead(entry: LogAppend, expectedPosition: number, unread: readonly string[]): Promise<number> {
    const copy = structuredClone(entry);
    this.#waiting++;
    this.#reading++;
    return this.#turns.runExclusive(async () => {
      try {
        if (this.#failed) throw this.#failed.error;
        const stored = await this.#orFail(async () => {
          await this.#context.readBlobs(unread);
          return this.#context.encrypt(this.#context.redact(copy));
        });
        return await this.owned.append(stored, expectedPosition);
      } finally {
        this.#waiting--;
        this.#reading--;
      }
    });
  }

  prune(): Promise<void> {
    return this.#turns.runExclusive(() => this.owned.prune());
  }

  drop(): Promise<void> {
    return this.#turns.runExclusive(async () => {
      const keyId = await this.#context.keyId();
      await this.owned.drop();
      this.#context.ended();
      if (keyId !== undefined) await this.#context.dropped(keyId);
    });
  }

  release(): Promise<void> {
    return this.#turns.runExclusive(async () => {
      this.#context.ended();
      await this.owned.release();
    });
  }

  #redacted(entry: LogAppend): RedactedAppend {
    try {
      return this.#context.redact(entry);
    } catch (error) {
      this.#failed = { error };
      throw error;
    }
  }

  /** After a failure, later appends must not take the place of this one. */
  async #orFail<Value>(action: () => Promise<Value>): Promise<Value> {
    try {
      return await action();
    } catch (error) {
      this.#failed = { error };
      throw error;
    }
  }
}
