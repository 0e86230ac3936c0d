import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import { PositionConflictError } from "../../errors/storageErrors.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { encodeAppend } from "../../storage/appends/encodeAppend.ts";
import type { LogAppend, OwnedLog } from "../../storage/RecordLog.ts";
import { type KeyedLogContext, KeyedOwnedLog } from "../keys/KeyedLog.ts";
import { encryptedKind } from "./sealedRecords.ts";

export interface EncryptedLogContext extends KeyedLogContext {
  readonly sha256: Sha256;
  readonly seal: (append: LogAppend, place: SealedPlace) => Promise<LogAppend>;
  /** Returns the last decrypted append, or `undefined` for an empty log. */
  readonly last: (position: number) => Promise<ChainLink | undefined>;
}

export interface SealedPlace {
  readonly encoded: Uint8Array;
  readonly generation: number;
  readonly position: number;
  readonly summary: LogAppend["summary"];
}

/** An encrypted log that this process owns. Its positions are those of the stored log. */
export class EncryptedOwnedLog extends KeyedOwnedLog {
  readonly #context: EncryptedLogContext;
  /** The end of the plain log after all queued appends. `undefined` until the end has been read. */
  #expectedEnd: ChainLink | undefined;
  /** The prunings and appends that wait for a turn. A pruning can change the generation, to which an append is bound. */
  #waiting = 0;

  constructor(agentId: string, owned: OwnedLog, context: EncryptedLogContext, end?: ChainLink) {
    super(agentId, owned, context);
    this.#context = context;
    this.#expectedEnd = end ?? (owned.position === 0 ? { position: 0, checksum: "" } : undefined);
  }

  /** Notes the last plain append that was read, so that the first append need not read it again. */
  noteEnd(end: ChainLink): void {
    if (this.#expectedEnd === undefined && end.position === this.owned.position) this.#expectedEnd = end;
  }

  override async prune(): Promise<void> {
    this.#waiting++;
    try {
      await super.prune();
    } finally {
      this.#waiting--;
    }
  }

  async append(entry: LogAppend, expectedPosition: number): Promise<number> {
    if (this.damage) throw this.damage;
    const end = this.#expectedEnd;
    if (end && this.#waiting === 0) {
      const store = this.#prepare(end, entry, expectedPosition);
      return this.turns.runExclusive(store);
    }
    // Copies the entry before the first await, because the caller may change it afterwards.
    const copy = JSON.parse(JSON.stringify(entry)) as LogAppend;
    this.#waiting++;
    try {
      return await this.turns.runExclusive(() => this.#appendInTurn(copy, expectedPosition));
    } finally {
      this.#waiting--;
    }
  }

  async #appendInTurn(entry: LogAppend, expectedPosition: number): Promise<number> {
    const { position } = this.owned;
    const end = (this.#expectedEnd ??= (await this.#context.last(position)) ?? { position, checksum: "" });
    return this.#prepare(end, entry, expectedPosition)();
  }

  /** Encodes an append at the end of the log. Returns the function that encrypts and stores it. */
  #prepare(end: ChainLink, entry: LogAppend, expectedPosition: number): () => Promise<number> {
    if (expectedPosition !== end.position) return () => this.#acknowledgeAgain(entry.id, expectedPosition);
    const { generation } = this;
    const appended = encodeAppend(this.agentId, entry, generation, end, this.#context.sha256);
    const encoded = appended.encoded.subarray(0, -1);
    const { id, snapshot } = entry;
    const gaps = entry.records.some(({ kind }) => kind === "pruned") ? structuredClone(entry.records) : [];
    this.#expectedEnd = appended.end;
    return () =>
      this.orFail(async () => {
        const { position } = appended.end;
        const place = { encoded, generation, position, summary: appended.summary };
        const sealed = await this.#context.seal({ id, records: gaps, ...(snapshot && { snapshot }) }, place);
        return this.owned.append(sealed, expectedPosition);
      });
  }

  /**
   * Appends again. The stored log accepts no append at another position, and acknowledges a repeated append by its id.
   */
  async #acknowledgeAgain(id: string, expectedPosition: number): Promise<number> {
    if (this.failed) throw this.failed.error;
    if (expectedPosition === this.position)
      throw new PositionConflictError(this.agentId, expectedPosition, this.position);
    return this.owned.append({ id, records: [{ kind: encryptedKind }] }, expectedPosition);
  }
}
