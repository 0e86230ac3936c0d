import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import { PositionConflictError } from "../../errors/storageErrors.ts";
import { Mutex } from "../../internal/Mutex.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { encodeAppend } from "../../storage/lease/encodeAppend.ts";
import { OwnedLogWrapper } from "../../storage/OwnedLogWrapper.ts";
import { RestoredStop } from "../../storage/RestoredStop.ts";
import type { LogAppend, OwnedLog } from "../../storage/RecordLog.ts";
import { encryptedKind } from "./sealedRecords.ts";

/** The parts of an encrypted log that its owner uses. */
export interface OwnedLogContext {
  readonly sha256: Sha256;
  /** Returns the append to store. */
  readonly seal: (append: LogAppend, place: SealedPlace) => Promise<LogAppend>;
  /** Returns the last decrypted append, or `undefined` for an empty log. */
  readonly last: (position: number) => Promise<ChainLink | undefined>;
  readonly openReason: (reason: string) => Promise<string>;
  /** Returns the id of the key that is destroyed with the data. `undefined` if there is none. */
  readonly keyId: () => Promise<string | undefined>;
  readonly dropped: (keyId: string) => Promise<void>;
  readonly onEnd: () => void;
}

export interface SealedPlace {
  readonly encoded: Uint8Array;
  readonly generation: number;
  readonly position: number;
  readonly summary: LogAppend["summary"];
}

/** An encrypted log that this process owns. It has the positions of the log below. */
export class EncryptedOwnedLog extends OwnedLogWrapper {
  readonly #agentId: string;
  readonly #context: OwnedLogContext;
  readonly #turns = new Mutex();
  readonly #stop: RestoredStop;
  /** The end of the plain log after all queued appends. `undefined` until it was read. */
  #expectedEnd: ChainLink | undefined;
  #failed: { readonly error: unknown } | undefined;

  constructor(agentId: string, owned: OwnedLog, context: OwnedLogContext, end?: ChainLink) {
    super(owned);
    this.#agentId = agentId;
    this.#context = context;
    this.#expectedEnd = end ?? (owned.position === 0 ? { position: 0, checksum: "" } : undefined);
    this.#stop = new RestoredStop(agentId, owned, context.openReason);
  }

  override get lost(): AbortSignal {
    return this.#stop.signal;
  }

  /** Notes the last plain append that a read found, so that the first append does not read it again. */
  noteEnd(end: ChainLink): void {
    if (this.#expectedEnd === undefined && end.position === this.owned.position) this.#expectedEnd = end;
  }

  override async checkStop(): Promise<void> {
    await super.checkStop();
    await this.#stop.told();
  }

  async append(entry: LogAppend, expectedPosition: number): Promise<number> {
    if (this.damage) throw this.damage;
    const end = this.#expectedEnd;
    if (end) return this.#appendAfter(end, entry, expectedPosition);
    // Copies the entry before the first await, because the caller may change it afterwards.
    const copy = JSON.parse(JSON.stringify(entry)) as LogAppend;
    await this.#turns.runExclusive(async () => {
      const { position } = this.owned;
      this.#expectedEnd ??= (await this.#context.last(position)) ?? { position, checksum: "" };
    });
    return this.append(copy, expectedPosition);
  }

  prune(): Promise<void> {
    return this.#turns.runExclusive(() => this.owned.prune());
  }

  drop(): Promise<void> {
    return this.#turns.runExclusive(async () => {
      const keyId = await this.#context.keyId();
      await this.owned.drop();
      this.#context.onEnd();
      // Another process may own the id by now. It has another key.
      if (keyId !== undefined) await this.#context.dropped(keyId);
    });
  }

  release(): Promise<void> {
    return this.#turns.runExclusive(async () => {
      this.#context.onEnd();
      await this.owned.release();
    });
  }

  async #appendAfter(end: ChainLink, entry: LogAppend, expectedPosition: number): Promise<number> {
    if (expectedPosition !== end.position)
      return this.#turns.runExclusive(() => this.#acknowledgeAgain(entry.id, expectedPosition));
    const { generation } = this;
    const appended = encodeAppend(this.#agentId, entry, generation, end, this.#context.sha256);
    const encoded = appended.encoded.subarray(0, -1);
    const { id, snapshot } = entry;
    const gaps = entry.records.some(({ kind }) => kind === "pruned") ? structuredClone(entry.records) : [];
    this.#expectedEnd = appended.end;
    return this.#turns.runExclusive(() =>
      this.#orFail(async () => {
        const { position } = appended.end;
        const place = { encoded, generation, position, summary: appended.summary };
        const sealed = await this.#context.seal({ id, records: gaps, ...(snapshot && { snapshot }) }, place);
        return this.owned.append(sealed, expectedPosition);
      }),
    );
  }

  /** The log below stores no append at another position, and acknowledges a repeated one by its id. */
  async #acknowledgeAgain(id: string, expectedPosition: number): Promise<number> {
    if (this.#failed) throw this.#failed.error;
    if (expectedPosition === this.position)
      throw new PositionConflictError(this.#agentId, expectedPosition, this.position);
    return this.owned.append({ id, records: [{ kind: encryptedKind }] }, expectedPosition);
  }

  /** After a failure, the end of the log is unknown, and no later append may be stored. */
  async #orFail<Result>(action: () => Promise<Result>): Promise<Result> {
    if (this.#failed) throw this.#failed.error;
    try {
      return await action();
    } catch (error) {
      this.#failed = { error };
      throw error;
    }
  }
}
