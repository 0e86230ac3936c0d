import { decodeEntry } from "../../checkpoint/format/entryCodec.ts";
import type { Entry } from "../../checkpoint/records/Entry.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { SealBrokenError } from "../../errors/sealErrors.ts";
import { StorageError } from "../../errors/storageErrors.ts";
import { toBase64Url } from "../../internal/bytes.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { BlobStore } from "../../storage/BlobStore.ts";
import type { LogAppend, OwnedLog, ReadOptions, ReceiveArguments, RecordLog } from "../../storage/RecordLog.ts";
import { orRelease, type Receive, RecordLogWrapper } from "../../storage/LogWrapper.ts";
import { checkSeals, type SealCheck, type SealedAppend, SealReading } from "./checkSeals.ts";
import {
  positionRanges,
  readKept,
  type Seal,
  type SealContent,
  sealHash,
  signedBytes,
  withSeal,
  type KeptSeal,
  type SealKeeper,
  type Sign,
  type Verify,
} from "./Seal.ts";
import { type SealedEnd, type SealingContext, SealingOwnedLog } from "./SealingOwnedLog.ts";

interface SealingRecordLogOptions {
  readonly sign: Sign;
  readonly verify: Verify;
  readonly keepAt: SealKeeper | undefined;
  readonly every: number;
  readonly sha256: () => Promise<Sha256>;
}

/**
 * Seals the appends of the wrapped log, and compares the log with its seals whenever it is read. Readers of the wrapped
 * log ignore the seals. Blobs need no seal, because the sealed records contain the hashes of the blobs.
 */
export class SealingRecordLog extends RecordLogWrapper<SealingOwnedLog> {
  readonly blobs: BlobStore;
  readonly options: SealingRecordLogOptions;
  readonly encodedAppends?: NonNullable<RecordLog["encodedAppends"]>;

  constructor(log: RecordLog, options: SealingRecordLogOptions) {
    super(log);
    this.options = options;
    this.blobs = log.blobs;
    if (log.encodedAppends) this.encodedAppends = (...given) => this.#encodedAppends(...given);
  }

  /** @throws SealBrokenError after the last append. */
  async *read(agentId: string, options: ReadOptions = {}): AsyncGenerator<Entry> {
    const reading = new SealReading(await this.options.sha256());
    for await (const entry of this.stored.read(agentId, options)) yield reading.add(entry);
    await this.#assertUnchanged(agentId, reading, options);
  }

  async *#encodedAppends(agentId: string, options: { readonly upTo?: number } = {}): AsyncGenerator<Uint8Array> {
    const sha256 = await this.options.sha256();
    const reading = new SealReading(sha256);
    yield* noted(this.stored.encodedAppends?.(agentId, options) ?? [], reading, sha256);
    await this.#assertUnchanged(agentId, reading, options);
  }

  protected async receiveWith(
    receive: Receive,
    ...[agentId, owner, received, last]: ReceiveArguments
  ): Promise<OwnedLog> {
    const sha256 = await this.options.sha256();
    const reading = new SealReading(sha256);
    const sealedLast = async (end: { readonly generation: number; readonly position: number }): Promise<LogAppend> => {
      const given = await last(end);
      const append = JSON.parse(JSON.stringify(given)) as LogAppend;
      const { position } = end;
      reading.add({ ...append, position: position + 1, generation: end.generation, checksum: "", prev: "" });
      const seal = await this.#sign(agentId, {
        generation: end.generation,
        covers: positionRanges(reading.appends.map((found) => found.position)),
        digests: reading.appends.map(({ digest }) => digest),
        prev: "",
        whole: true,
        every: this.options.every,
      });
      sealedEnd = { position: position + 1, hash: sealHash(sha256, agentId, seal), digests: [] };
      return { ...append, records: withSeal(append.records, seal) };
    };
    let sealedEnd: SealedEnd | undefined;
    const stored = { generation: received.generation, appends: noted(received.appends, reading, sha256) };
    const owned = await receive(agentId, owner, stored, sealedLast);
    const end = sealedEnd as SealedEnd & { readonly hash: string };
    const { position, hash } = end;
    await orRelease(owned, () => this.#keep(agentId, { agentId, generation: owned.generation, position, hash }));
    return this.own(agentId, this.#wrap(agentId, owned, sha256, { end }));
  }

  protected async opened(agentId: string, owned: OwnedLog): Promise<SealingOwnedLog> {
    const damage = await this.#truncation(agentId, owned);
    return this.#wrap(agentId, owned, await this.options.sha256(), { damage });
  }

  #wrap(
    agentId: string,
    owned: OwnedLog,
    sha256: Sha256,
    { end, damage }: { readonly end?: SealedEnd; readonly damage?: SealBrokenError | undefined },
  ): SealingOwnedLog {
    const context: SealingContext = {
      sha256,
      every: this.options.every,
      damage,
      end: (position) => this.#endAt(agentId, position),
      all: async () => (await this.#checked(agentId)).appends,
      sign: (content) => this.#sign(agentId, content),
      keepDropping: () => this.#keepDropping(agentId),
      keep: (kept) => this.#keep(agentId, { agentId, generation: owned.generation, ...kept }),
    };
    return new SealingOwnedLog(agentId, owned, context, end);
  }

  async #sign(agentId: string, content: SealContent): Promise<Seal> {
    return { ...content, signature: toBase64Url(await this.options.sign(signedBytes(agentId, content))) };
  }

  async #keepDropping(agentId: string): Promise<KeptSeal | undefined> {
    const kept = await this.#kept(agentId);
    if (kept && !kept.dropped) await this.#keep(agentId, { ...kept, dropping: true });
    return kept;
  }

  async #kept(agentId: string): Promise<KeptSeal | undefined> {
    return orUnavailable("keepAt.read()", agentId, () => readKept(this.options.keepAt, agentId));
  }

  async #keep(agentId: string, kept: KeptSeal): Promise<void> {
    await orUnavailable("keepAt.write()", agentId, async () => this.options.keepAt?.write(agentId, kept));
  }

  /** Compares the log with its kept seal. Finishes the note of an interrupted deletion. */
  async #truncation(agentId: string, owned: OwnedLog): Promise<SealBrokenError | undefined> {
    const { sha256 } = this.options;
    const kept = owned.damage ? undefined : await this.#kept(agentId);
    if (!kept) return undefined;
    const { position } = kept;
    const [last] = kept.dropped ? [] : (await this.#reading(agentId, { after: position - 1, upTo: position })).appends;
    const seal = last?.seal;
    if (seal && sealHash(await sha256(), agentId, seal) === kept.hash) return undefined;
    const { changes, newest, tail } = await this.#check(agentId, kept);
    const [change] = changes;
    if (change) return new SealBrokenError(agentId, change);
    const isDeleted = kept.dropping && !newest && tail.length === 0;
    // A crash prevented this note, which makes a restored copy of the deleted log detectable.
    if (isDeleted)
      await this.#keep(agentId, { agentId, generation: kept.generation, position, hash: "", dropped: true });
    return undefined;
  }

  /** Reads back to the newest seal. */
  async #endAt(agentId: string, position: number): Promise<SealedEnd> {
    for (let size = this.options.every; ; size *= 4) {
      const after = Math.max(0, position - size);
      const { appends } = await this.#reading(agentId, { after });
      const { newest, tail } = await this.#compare(agentId, appends, after > 0 ? after + 1 : undefined);
      if (newest) return this.#noteEnd(agentId, appends, { hash: newest.hash, tail });
      if (after === 0) return { position, hash: undefined, digests: [] };
    }
  }

  /** @throws SealBrokenError */
  async #assertUnchanged(agentId: string, { appends }: SealReading, options: ReadOptions): Promise<void> {
    const [first] = appends;
    const last = appends.at(-1);
    if (!first || !last) return;
    const { upTo } = options;
    if (upTo !== undefined && !last.seal) appends.push(...(await this.#upToSeal(agentId, last.position)));
    const from = firstReadPosition(options, first.position);
    const { newest, tail } = await this.#compare(agentId, appends, from);
    // A part of a log without a seal cannot be checked, and does not show how many appends are unsealed.
    if (!newest && from !== undefined) await this.#endAt(agentId, appends.at(-1)?.position ?? 0);
    else if (newest && upTo === undefined) this.#noteEnd(agentId, appends, { hash: newest.hash, tail });
  }

  /** @param from - the first position of a part of the log. Defaults to the whole log. @throws SealBrokenError */
  async #compare(agentId: string, appends: readonly SealedAppend[], from: number | undefined): Promise<SealCheck> {
    const check = await this.#checkOf(agentId, appends, { from });
    // A part of a log does not show which of its appends were pruned.
    const [change] =
      check.changes.length > 0 && from !== undefined ? (await this.#check(agentId)).changes : check.changes;
    if (change) throw new SealBrokenError(agentId, change);
    return check;
  }

  /** Tells the owner the end of the log, with the hash of the newest seal and the appends after it. */
  #noteEnd(
    agentId: string,
    appends: readonly SealedAppend[],
    { hash, tail }: { readonly hash: string } & Pick<SealCheck, "tail">,
  ): SealedEnd {
    const end = { position: appends.at(-1)?.position ?? 0, hash, digests: tail.map(({ digest }) => digest) };
    this.owned.get(agentId)?.noteEnd(end);
    return end;
  }

  async #upToSeal(agentId: string, after: number): Promise<readonly SealedAppend[]> {
    const reading = new SealReading(await this.options.sha256());
    for await (const entry of this.stored.read(agentId, { after })) {
      reading.add(entry);
      if (reading.appends.at(-1)?.seal) break;
    }
    return reading.appends;
  }

  /** Reads the whole log. @throws SealBrokenError */
  async #checked(agentId: string): Promise<SealReading> {
    const reading = await this.#reading(agentId);
    await this.#assertUnchanged(agentId, reading, {});
    return reading;
  }

  async #check(agentId: string, kept?: KeptSeal): Promise<SealCheck> {
    return this.#checkOf(agentId, (await this.#reading(agentId)).appends, { kept });
  }

  async #reading(agentId: string, options?: ReadOptions): Promise<SealReading> {
    const reading = new SealReading(await this.options.sha256());
    for await (const entry of this.stored.read(agentId, options)) reading.add(entry);
    return reading;
  }

  async #checkOf(
    agentId: string,
    appends: readonly SealedAppend[],
    options: { readonly from?: number | undefined; readonly kept?: KeptSeal | undefined },
  ): Promise<SealCheck> {
    const { verify } = this.options;
    return checkSeals(appends, { agentId, sha256: await this.options.sha256(), verify, ...options });
  }
}

/** Passes on the appends, and adds each to a reading. */
async function* noted(
  appends: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  reading: SealReading,
  sha256: Sha256,
): AsyncGenerator<Uint8Array> {
  for await (const encoded of appends) {
    const decoded = decodeEntry(encoded, sha256);
    if (decoded.ok) reading.add(decoded.entry);
    yield encoded;
  }
}

/** Returns the position at which a read of a part of a log started. `undefined` for a read of the whole log. */
function firstReadPosition({ after = 0, upTo, sinceSnapshot }: ReadOptions, first: number): number | undefined {
  if (after > 0) return after + 1;
  return upTo !== undefined || (sinceSnapshot && first > 1) ? first : undefined;
}

async function orUnavailable<Result>(operation: string, agentId: string, call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof InvalidInputError) throw error;
    throw new StorageError("unavailable", operation, `the seal of ${agentId}`, { cause: error });
  }
}
