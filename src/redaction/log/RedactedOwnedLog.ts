import { type KeyedLogContext, KeyedOwnedLog } from "../../encryption/keys/KeyedOwnedLog.ts";
import type { LogAppend, OwnedLog } from "../../storage/RecordLog.ts";
import type { RedactedAppend } from "./AppendRedactor.ts";

export interface RedactedLogContext extends KeyedLogContext {
  readonly redact: (append: LogAppend) => RedactedAppend;
  /** Learns the secrets of blobs. */
  readonly readBlobs: (references: readonly string[]) => Promise<void>;
  /** Encrypts the hidden values of an append. */
  readonly encrypt: (redacted: RedactedAppend) => Promise<LogAppend>;
}

export class RedactedOwnedLog extends KeyedOwnedLog {
  readonly #context: RedactedLogContext;
  #waiting = 0;
  /** The appends that wait for the secrets of blobs. Later appends can repeat the secrets. */
  #reading = 0;

  constructor(agentId: string, owned: OwnedLog, context: RedactedLogContext) {
    super(agentId, owned, context);
    this.#context = context;
  }

  async append(entry: LogAppend, expectedPosition: number): Promise<number> {
    if (this.failed) throw this.failed.error;
    const redacted = this.#redacted(entry);
    if (redacted.unread.length > 0 || this.#reading > 0)
      return this.#appendRead(entry, expectedPosition, redacted.unread);
    if (redacted.hidden.length === 0 && this.#waiting === 0) return this.owned.append(entry, expectedPosition);
    // Copies the entry before the first await, because the caller may change it afterwards.
    const copy = redacted.hidden.length > 0 ? redacted : { ...redacted, append: structuredClone(entry) };
    this.#waiting++;
    return this.turns.runExclusive(async () => {
      try {
        return await this.owned.append(await this.orFail(() => this.#context.encrypt(copy)), expectedPosition);
      } finally {
        this.#waiting--;
      }
    });
  }

  async #appendRead(entry: LogAppend, expectedPosition: number, unread: readonly string[]): Promise<number> {
    const copy = structuredClone(entry);
    this.#waiting++;
    this.#reading++;
    return this.turns.runExclusive(async () => {
      try {
        const stored = await this.orFail(async () => {
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

  #redacted(entry: LogAppend): RedactedAppend {
    try {
      return this.#context.redact(entry);
    } catch (error) {
      this.failed = { error };
      throw error;
    }
  }
}
