import { prunedGapsOf } from "../../checkpoint/records/Entry.ts";
import type { SealBrokenError } from "../../errors/sealErrors.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { OwnedLogWrapper } from "../../storage/LogWrapper.ts";
import type { LogAppend, OwnedLog } from "../../storage/RecordLog.ts";
import type { FoundAppend } from "./checkSeals.ts";
import {
  appendDigest,
  positionRanges,
  type Seal,
  type SealContent,
  sealHash,
  withSeal,
  type KeptSeal,
} from "./Seal.ts";

/** The end of a log: the newest seal, and the digests of the later appends. */
export interface SealedEnd {
  readonly position: number;
  /** The hash of the newest seal. `undefined` if the log has no appends. */
  readonly hash: string | undefined;
  readonly digests: readonly string[];
}

/** The parts of a sealed log that its owner uses. */
export interface SealingContext {
  readonly sha256: Sha256;
  readonly every: number;
  readonly damage: SealBrokenError | undefined;
  /** Reads the end of the log. @throws SealBrokenError */
  readonly end: (position: number) => Promise<SealedEnd>;
  /** Reads all appends of the log. @throws SealBrokenError */
  readonly all: () => Promise<readonly FoundAppend[]>;
  readonly sign: (content: SealContent) => Promise<Seal>;
  /** Stores that the log will be deleted. Returns the newest kept seal. */
  readonly keepDropping: () => Promise<KeptSeal | undefined>;
  /** Stores a seal outside the log. Its generation defaults to the generation of the owner. */
  readonly keep: (
    kept: Pick<KeptSeal, "position" | "hash" | "dropped"> & { readonly generation?: number },
  ) => Promise<void>;
}

/** A change to this status is sealed with later appends. Every other status is sealed at once, for its readers. */
const unsealedStatus = "in_progress";

/** A sealed log that this process owns. Adds a seal to some of its appends. */
export class SealingOwnedLog extends OwnedLogWrapper {
  readonly #context: SealingContext;
  /** The end of the log with all appends that this object has stored. `undefined` until the end has been read. */
  #end: SealedEnd | undefined;

  constructor(agentId: string, owned: OwnedLog, context: SealingContext, end?: SealedEnd) {
    super(agentId, owned);
    this.#context = context;
    this.#end = end ?? (owned.position === 0 ? { position: 0, hash: undefined, digests: [] } : undefined);
  }

  override get damage(): OwnedLog["damage"] {
    return super.damage ?? this.#context.damage;
  }

  /** Notes the end that was read, so that the first append need not read it again. */
  noteEnd(end: SealedEnd): void {
    if (end.position === this.owned.position) this.#end ??= end;
  }

  async append(entry: LogAppend, expectedPosition: number): Promise<number> {
    if (this.damage) throw this.damage;
    if (this.failed) throw this.failed.error;
    const end = this.#end;
    if (end && this.waiting === 0 && !(expectedPosition === end.position && this.#isDue(end, entry)))
      return this.#append(end, entry, expectedPosition);
    // Copies the entry before the first await, because the caller may change it afterwards.
    const copy = JSON.parse(JSON.stringify(entry)) as LogAppend;
    return this.waitingTurn(() => this.#appendInTurn(copy, expectedPosition));
  }

  drop(): Promise<void> {
    return this.inTurn(async () => {
      const kept = await this.#context.keepDropping();
      // The log of an agent that is already deleted may start at 0.
      const position = Math.max(this.position, kept?.position ?? 0);
      const generation = Math.max(this.generation, kept?.generation ?? 0);
      await this.owned.drop();
      this.onEnd();
      if (position > 0) await this.#context.keep({ generation, position, hash: "", dropped: true });
    });
  }

  async #appendInTurn(entry: LogAppend, expectedPosition: number): Promise<number> {
    const end = (this.#end ??= await this.#context.end(this.owned.position));
    if (expectedPosition !== end.position || !this.#isDue(end, entry))
      return this.#append(end, entry, expectedPosition);
    return this.orFail(async () => {
      const position = end.position + 1;
      const seal = await this.#context.sign(await this.#contentOf(end, entry));
      const hash = sealHash(this.#context.sha256, this.agentId, seal);
      this.#end = { position, hash, digests: [] };
      await this.owned.append({ ...entry, records: withSeal(entry.records, seal) }, expectedPosition);
      await this.#context.keep({ position, hash });
      return position;
    });
  }

  /** Passes on an append without a seal. The wrapped log rejects or acknowledges another position. */
  #append(end: SealedEnd, entry: LogAppend, expectedPosition: number): Promise<number> {
    if (expectedPosition !== end.position) return this.owned.append(entry, expectedPosition);
    this.#end = { ...end, position: end.position + 1, digests: [...end.digests, this.#digestOf(entry)] };
    return this.orFail(() => this.owned.append(entry, expectedPosition));
  }

  /** Reads of the newest part start at a snapshot, so each snapshot has a seal. */
  #isDue({ hash, digests }: SealedEnd, { records, summary, snapshot }: LogAppend): boolean {
    if (hash === undefined || snapshot || digests.length + 1 >= this.#context.every) return true;
    return (summary !== undefined && summary.status !== unsealedStatus) || prunedGapsOf(records).length > 0;
  }

  async #contentOf(end: SealedEnd, entry: LogAppend): Promise<SealContent> {
    const { generation } = this;
    const position = end.position + 1;
    const { every } = this.#context;
    const gaps = prunedGapsOf(entry.records);
    const own = this.#digestOf(entry);
    const prev = end.hash ?? "";
    if (gaps.length > 0) {
      // The pruning can remove earlier seals, so this seal covers all remaining appends.
      const isPruned = (at: number) => gaps.some(({ first, last }) => at >= first && at <= last);
      const kept = (await this.#context.all()).filter((append) => !isPruned(append.position));
      const covers = positionRanges([...kept.map((append) => append.position), position]);
      return { generation, covers, digests: [...kept.map(({ digest }) => digest), own], prev, whole: true, every };
    }
    const digests = [...end.digests, own];
    const covers = [[position + 1 - digests.length, position]] as const;
    return { generation, covers, digests, prev, whole: end.hash === undefined, every };
  }

  #digestOf({ id, records }: LogAppend): string {
    return appendDigest(this.#context.sha256, this.generation, id, JSON.stringify(records));
  }
}
