import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import { noteVerified } from "../../checkpoint/format/entryCodec.ts";
import { type Entry, type PrunedGap, prunedGapsOf } from "../../checkpoint/records/Entry.ts";
import { fromBase64Url, fromUtf8, toBase64Url, utf8 } from "../../internal/bytes.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { BlobStore } from "../../storage/BlobStore.ts";
import type {
  AgentSummary,
  ListOptions,
  LogAppend,
  LogCapabilities,
  OwnedLog,
  ReadOptions,
  ReceiveArguments,
  RecordLog,
} from "../../storage/RecordLog.ts";
import type { Receive } from "../../storage/LogWrapper.ts";
import { processOwner } from "../../storage/ReleasableLog.ts";
import { isAmong, isSelected, keyStatus, unreadable } from "../../storage/summaries.ts";
import type { DataKeys, DataKey } from "../keys/DataKeys.ts";
import { assertNoKeyLog, KeyedRecordLog, type KeyedLogContext, KeyedOwnedLog } from "../keys/KeyedLog.ts";
import { orderBehindKeys } from "../keys/KeyLog.ts";
import { AuthenticatedChain } from "./AuthenticatedChain.ts";
import { EncryptedBlobs } from "./EncryptedBlobs.ts";
import { SealedReceive } from "./SealedReceive.ts";
import { type OpenedAppend, openRecords, sealAppend, translatedGaps, encryptedKind } from "./sealedRecords.ts";
import { openSummary, type PlainField } from "./sealedSummary.ts";
import { PositionConflictError } from "../../errors/storageErrors.ts";
import { type EncodedAppend, encodeAppend } from "../../storage/appends/encodeAppend.ts";

interface EncryptedRecordLogOptions {
  readonly keys: DataKeys;
  readonly plain: readonly PlainField[];
  readonly sha256: () => Promise<Sha256>;
}

/** How many appends of a read are decrypted concurrently. */
const decryptedAtOnce = 16;

/**
 * Encrypts everything that a log stores about its agents, except ids, positions, sizes and the fields of lists. The
 * wrapped log sees only encrypted appends, summaries, blobs and reasons, so this works for every storage.
 */
export class EncryptedRecordLog extends KeyedRecordLog<EncryptedOwnedLog> {
  readonly blobs: BlobStore;
  readonly #plain: readonly PlainField[];
  readonly #sha256: () => Promise<Sha256>;

  constructor(log: RecordLog, { keys, plain, sha256 }: EncryptedRecordLogOptions) {
    super(log, keys);
    this.#plain = plain;
    this.#sha256 = sha256;
    this.blobs = new EncryptedBlobs(log.blobs, keys, (agentId) => this.hasData(agentId), sha256);
  }

  override get capabilities(): LogCapabilities {
    return { ...this.stored.capabilities, archiveKeys: this.keys.source };
  }

  async *read(agentId: string, options: ReadOptions = {}): AsyncGenerator<Entry> {
    for await (const { entry } of this.#decrypted(agentId, options)) yield entry;
  }

  async *encodedAppends(agentId: string, options: { readonly upTo?: number } = {}): AsyncGenerator<Uint8Array> {
    for await (const { encoded, entry } of this.#decrypted(agentId, options)) {
      noteVerified(encoded, entry);
      yield encoded;
    }
  }

  override async *list(options: ListOptions = {}): AsyncGenerator<AgentSummary> {
    const { limit = Infinity, free: _free, readOnly: _readOnly, after: start, ...selected } = options;
    // The log below does not know which agents cannot be decrypted.
    const { status, ...unselected } = options;
    const asked = status === unreadable ? unselected : options;
    const open = async (stored: AgentSummary) => ({
      // A decrypted sort key can differ from the stored one, which would repeat or skip agents.
      order: stored.order,
      summary: stored.status === keyStatus ? stored : await openSummary(this.keys, stored),
    });
    let left = limit;
    let after = start;
    for (let isMore = left > 0; isMore;) {
      let found = 0;
      const most = left;
      const page = { ...asked, ...(after !== undefined && { after }), ...(left < Infinity && { limit: left }) };
      isMore = false;
      const agents = withoutKeys(this.stored, page, status);
      for await (const { order, summary } of inParallel(agents, decryptedAtOnce, open)) {
        after = order;
        isMore = ++found >= most;
        if (summary.status === keyStatus || !isSelected(summary, selected)) continue;
        yield summary;
        if (--left === 0) return;
      }
    }
  }

  override async requestStop(agentId: string, reason: string): Promise<void> {
    if ((await this.stored.owner(agentId)) === undefined) return;
    const key = await this.keyForWriting(agentId);
    await this.stored.requestStop(agentId, await sealReason(key, agentId, reason));
  }

  async *#decrypted(agentId: string, options: ReadOptions): AsyncGenerator<OpenedAppend> {
    assertNoKeyLog(agentId);
    const sha256 = await this.#sha256();
    const chain = new AuthenticatedChain(agentId, options);
    const open = (entry: Entry) => openRecords(this.keys, agentId, entry, sha256);
    for await (const opened of inParallel(this.stored.read(agentId, options), decryptedAtOnce, open)) {
      chain.accept(opened.entry, opened.isSnapshot);
      yield opened;
    }
    const { end } = chain;
    if (chain.hasUnexplainedGap && end && options.upTo !== undefined)
      for await (const { entry } of inParallel(
        this.stored.read(agentId, { after: end.position }),
        decryptedAtOnce,
        open,
      ))
        chain.note(entry);
    chain.assertWhole();
    if (end) this.owned.get(agentId)?.noteEnd(end);
  }

  protected async receiveWith(
    receive: Receive,
    ...[agentId, owner, received, last]: ReceiveArguments
  ): Promise<OwnedLog> {
    assertNoKeyLog(agentId);
    const sha256 = await this.#sha256();
    let hasKey = false;
    const keyOf = async () => {
      hasKey = true;
      await this.prepareKey(agentId, owner);
      return this.keyForWriting(agentId);
    };
    const sealed = new SealedReceive({ agentId, keyOf, plain: this.#plain, sha256 });
    const appends = { generation: received.generation, appends: sealed.lines(received.appends, received.generation) };
    try {
      const owned = await receive(agentId, owner, appends, (end) => sealed.last(end, last));
      return this.own(agentId, await this.wrap(agentId, owned, sealed.end));
    } catch (error) {
      if (hasKey) await this.#dropUnusedKey(agentId).catch(() => {});
      throw error;
    }
  }

  /** Opening an agent without data destroys its key. */
  async #dropUnusedKey(agentId: string): Promise<void> {
    const owned = await this.open(agentId, { ...processOwner(), mustExist: true });
    await owned.release();
  }

  protected async wrap(agentId: string, owned: OwnedLog, end?: ChainLink): Promise<EncryptedOwnedLog> {
    const context: EncryptedLogContext = {
      ...this.keyContext(agentId, owned),
      sha256: await this.#sha256(),
      seal: (append) => this.#seal(agentId, append),
      last: (position) => this.#last(agentId, position),
      openReason: (reason) => openReason(this.keys, agentId, reason),
    };
    return new EncryptedOwnedLog(agentId, owned, context, end);
  }

  protected usesKey(agentId: string): Promise<boolean> {
    return this.hasData(agentId);
  }

  async #seal(agentId: string, append: PreparedAppend): Promise<LogAppend> {
    const { gaps, appended, ...rest } = append;
    const key = await this.keyForWriting(agentId);
    const stored = gaps.length > 0 ? await translatedGaps(gaps, this.stored.read(agentId)) : [];
    return sealAppend(key, { agentId, ...rest }, appended, stored, this.#plain);
  }

  async #last(agentId: string, position: number): Promise<ChainLink | undefined> {
    let last: ChainLink | undefined;
    for await (const { entry } of this.#decrypted(agentId, { after: position - 1 })) last = entry;
    return last && { position: last.position, checksum: last.checksum };
  }
}

/**
 * Lists agents without the logs of data keys, which follow each other in the list. Can list more agents than the limit.
 * Includes unreadable logs of data keys if unreadable agents are requested.
 */
async function* withoutKeys(
  log: RecordLog,
  options: ListOptions,
  asked: ListOptions["status"],
): AsyncGenerator<AgentSummary> {
  if (asked !== undefined && isAmong(unreadable, asked)) return yield* log.list(options);
  for await (const summary of log.list(options)) {
    if (summary.status === keyStatus) return yield* log.list({ ...options, after: orderBehindKeys });
    yield summary;
  }
}

/** Maps items in order with up to `width` concurrent calls. Yields earlier results before an error of `items`. */
async function* inParallel<Item, Result>(
  items: AsyncIterable<Item>,
  width: number,
  map: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const pending: Promise<Result>[] = [];
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await iterator.next().catch((error: unknown) => ({ done: true, value: undefined, error }) as const);
      if (next.done !== true) pending.push(started(map(next.value)));
      while (pending.length > (next.done === true ? 0 : width)) yield await (pending.shift() as Promise<Result>);
      if ("error" in next) throw next.error;
      if (next.done === true) return;
    }
  } finally {
    await iterator.return?.();
  }
}

/** Prevents an unhandled rejection if an earlier item fails first. */
function started<Result>(call: Promise<Result>): Promise<Result> {
  call.catch(() => {});
  return call;
}

const form = /^encrypted:([^:]+):([A-Za-z0-9_-]+)$/;

const unknownReason = "a reason that cannot be decrypted";

async function sealReason(key: DataKey, agentId: string, reason: string): Promise<string> {
  return `encrypted:${key.id}:${toBase64Url(await key.encrypt(utf8(reason), contextOf(agentId)))}`;
}

/** Decrypts a reason. A request to stop counts even if its reason cannot be decrypted. */
async function openReason(keys: DataKeys, agentId: string, stored: string): Promise<string> {
  const [, id = "", text = ""] = form.exec(stored) ?? [];
  const bytes = fromBase64Url(text);
  try {
    const key = await keys.reading(agentId, id);
    const reason = bytes && (await key?.decrypt(bytes, contextOf(agentId)));
    return reason ? fromUtf8(reason) : unknownReason;
  } catch {
    return unknownReason;
  }
}

function contextOf(agentId: string): string {
  return JSON.stringify(["agent-persistence stop", 1, agentId]);
}

interface EncryptedLogContext extends KeyedLogContext {
  readonly sha256: Sha256;
  readonly seal: (append: PreparedAppend) => Promise<LogAppend>;
  /** Returns the last decrypted append, or `undefined` for an empty log. */
  readonly last: (position: number) => Promise<ChainLink | undefined>;
}

interface PreparedAppend {
  readonly id: string;
  readonly snapshot: boolean;
  readonly generation: number;
  readonly appended: EncodedAppend;
  /** The gaps of a pruning, with the checksums of plain appends. */
  readonly gaps: readonly PrunedGap[];
}

/** An encrypted log that this process owns. Its positions are those of the stored log. */
class EncryptedOwnedLog extends KeyedOwnedLog {
  readonly #context: EncryptedLogContext;
  /** The end of the plain log after all queued appends. `undefined` until the end has been read. */
  #expectedEnd: ChainLink | undefined;

  constructor(agentId: string, owned: OwnedLog, context: EncryptedLogContext, end?: ChainLink) {
    super(agentId, owned, context);
    this.#context = context;
    this.#expectedEnd = end ?? (owned.position === 0 ? { position: 0, checksum: "" } : undefined);
  }

  /** Notes the last plain append that was read, so that the first append need not read it again. */
  noteEnd(end: ChainLink): void {
    if (this.#expectedEnd === undefined && end.position === this.owned.position) this.#expectedEnd = end;
  }

  async append(entry: LogAppend, expectedPosition: number): Promise<number> {
    if (this.damage) throw this.damage;
    const end = this.#expectedEnd;
    // An append is bound to the generation, which a waiting pruning can change.
    if (end && this.waiting === 0) return this.inTurn(this.#prepare(end, entry, expectedPosition));
    // Copies the entry before the first await, because the caller may change it afterwards.
    const copy = JSON.parse(JSON.stringify(entry)) as LogAppend;
    return this.waitingTurn(() => this.#appendInTurn(copy, expectedPosition));
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
    const { id, snapshot = false } = entry;
    const gaps = structuredClone(prunedGapsOf(entry.records));
    this.#expectedEnd = appended.end;
    return () =>
      this.orFail(async () =>
        this.owned.append(await this.#context.seal({ id, snapshot, generation, appended, gaps }), expectedPosition),
      );
  }

  /** Appends again. The stored log acknowledges a repeated append by its id, and accepts no other position. */
  async #acknowledgeAgain(id: string, expectedPosition: number): Promise<number> {
    if (this.failed) throw this.failed.error;
    if (expectedPosition === this.position)
      throw new PositionConflictError(this.agentId, expectedPosition, this.position);
    return this.owned.append({ id, records: [{ kind: encryptedKind }] }, expectedPosition);
  }
}
