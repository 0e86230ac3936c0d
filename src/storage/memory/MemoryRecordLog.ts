import type { Entry } from "../../checkpoint/records/Entry.ts";
import { AgentBusyError, AlreadyExistsError, StorageClosedError } from "../../errors/storageErrors.ts";
import { CorruptBlobError } from "../../errors/storedDataErrors.ts";
import { countFirst } from "../../internal/countFirst.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { sha256Schema } from "../../internal/options/optionSchemas.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import type { BlobStore } from "../BlobStore.ts";
import type {
  AgentSummary,
  LastAppend,
  ListOptions,
  LogAppend,
  LogCapabilities,
  LogOwner,
  LogWatch,
  OwnedLog,
  ReadOptions,
  RecordLog,
  StoredAppends,
} from "../RecordLog.ts";
import { LogPersistenceStorageProvider } from "../LogPersistenceStorageProvider.ts";
import { formatBlobReference, parseBlobReference } from "../blobs.ts";
import { Watchers } from "../Watchers.ts";
import { ProcessLog, ReleasableLog } from "../ReleasableLog.ts";
import { MemoryAgentLog } from "./MemoryAgentLog.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { compareSummaries, isAmong, isSelected } from "../summaries.ts";

const optionsSchema = strictOptions(() => ({ sha256: sha256Schema.optional() }));

/** The retry delay for a busy agent, in milliseconds. In memory, ownership is never taken over. */
const retryAfterMs = 1000;

/**
 * Stores agents in the memory of this process, for unit tests and temporary agents. Values are encoded like in durable
 * storages, so values that cannot be stored are also rejected here.
 *
 * @example
 * ```ts
 * const storage = new InMemoryPersistenceStorageProvider();
 * const agent = new AIAgent({ promptExecutor, llmModel }).install(Persistence, { storage });
 * ```
 */
export class InMemoryPersistenceStorageProvider extends LogPersistenceStorageProvider {
  constructor() {
    super(new MemoryRecordLog());
  }
}

/**
 * Stores logs in the memory of this process, for tests and temporary agents. Records are encoded like in durable
 * storages, so records that cannot be stored are also rejected here.
 */
export class MemoryRecordLog extends ProcessLog<MemoryOwnedLog> implements RecordLog {
  readonly capabilities: LogCapabilities = {
    durable: false,
    processes: "one",
    machines: "one",
    listing: "exact",
    narrows: true,
  };
  readonly blobs: MemoryBlobStore;
  readonly #sha256: () => Promise<Sha256>;
  readonly #logs = new Map<string, MemoryAgentLog>();
  readonly #generations = new Map<string, number>();
  readonly #order = new SummaryOrder();
  readonly #watchers = new Watchers();

  /** @param options.sha256 - defaults to the SHA-256 of the platform, or to a JavaScript implementation. */
  constructor(options: { readonly sha256?: Sha256 } = {}) {
    super("The storage in memory");
    checkSchema(optionsSchema, options, "options of the log in memory");
    const { sha256 } = options;
    this.#sha256 = sha256 === undefined ? platformSha256 : () => Promise.resolve(sha256);
    this.blobs = new MemoryBlobStore(this.#sha256);
  }

  async open(agentId: string, owner: LogOwner): Promise<OwnedLog> {
    this.assertUsable(agentId);
    const sha256 = await this.#sha256();
    this.assertUsable(agentId);
    const busy = this.owned.get(agentId);
    if (busy !== undefined)
      throw new AgentBusyError(agentId, { ...busy.owner, generation: busy.generation }, retryAfterMs);
    const generation = (this.#generations.get(agentId) ?? 0) + 1;
    return this.#own(this.#logs.get(agentId) ?? new MemoryAgentLog(agentId, sha256), owner, generation);
  }

  async receive(agentId: string, owner: LogOwner, received: StoredAppends, last: LastAppend): Promise<OwnedLog> {
    this.#assertEmpty(agentId);
    const { ReceivedAppends } = await import("../../checkpoint/format/ReceivedAppends.ts");
    const sha256 = await this.#sha256();
    const checked = new ReceivedAppends(agentId, received.generation, sha256);
    // Owns the log while the appends are read, which excludes other writers. Readers do not see the appends yet.
    const waiting = await this.open(agentId, owner);
    try {
      this.#assertEmpty(agentId);
      const log = new MemoryAgentLog(agentId, sha256);
      for await (const encoded of received.appends) log.receive(encoded, checked.accept(encoded));
      const { position } = checked.end();
      log.receiveGaps(checked.gaps);
      const generation = Math.max(waiting.generation, received.generation) + 1;
      const append = await last({ generation, position });
      if (this.owned.get(agentId) !== waiting) throw new StorageClosedError("The storage in memory");
      log.append(append, position, generation);
      if (log.summary) this.#order.set(log.summary);
      return this.#own(log, owner, generation);
    } catch (error) {
      await waiting.release();
      throw error;
    }
  }

  async *encodedAppends(agentId: string, { upTo }: { readonly upTo?: number } = {}): AsyncGenerator<Uint8Array> {
    this.assertUsable(agentId);
    const log = this.#logs.get(agentId);
    if (log !== undefined) yield* log.encodedAppends(upTo);
  }

  async *read(agentId: string, options: ReadOptions = {}): AsyncGenerator<Entry> {
    this.assertUsable(agentId);
    const log = this.#logs.get(agentId);
    if (log !== undefined) yield* log.read(options);
  }

  async *list(options: ListOptions = {}): AsyncGenerator<AgentSummary> {
    this.assertOpen();
    const { limit = Infinity, free } = options;
    let left = limit;
    for (const { agentId } of left > 0 ? this.#order.select(options) : []) {
      const summary = free && this.owned.has(agentId) ? undefined : this.#logs.get(agentId)?.summary;
      if (!summary) continue;
      yield summary;
      if (--left <= 0) return;
    }
  }

  async unremovedBytes(agentId: string): Promise<number> {
    this.assertUsable(agentId);
    return this.#logs.get(agentId)?.unremovedBytes ?? 0;
  }

  async watch(onChange: () => void): Promise<LogWatch> {
    this.assertOpen();
    return this.#watchers.watch(onChange);
  }

  #own(log: MemoryAgentLog, owner: LogOwner, generation: number): MemoryOwnedLog {
    const { agentId } = log;
    const owned = new MemoryOwnedLog(log, this.#order, agentId, { ...owner }, generation, () => this.#forget(agentId));
    this.#generations.set(agentId, generation);
    this.#logs.set(agentId, log);
    this.owned.set(agentId, owned);
    return owned;
  }

  #assertEmpty(agentId: string): void {
    if (this.#logs.get(agentId)?.isEmpty === false) throw new AlreadyExistsError("agent_exists", agentId);
  }

  #forget(agentId: string): void {
    this.owned.delete(agentId);
    if (this.#logs.get(agentId)?.isEmpty === true) this.blobs.clear(agentId);
    this.#watchers.tell();
  }
}

/** An owned log in memory. The ownership ends when the log is released or dropped, or the storage is closed. */
class MemoryOwnedLog extends ReleasableLog implements OwnedLog {
  readonly #log: MemoryAgentLog;
  readonly #order: SummaryOrder;

  constructor(log: MemoryAgentLog, order: SummaryOrder, ...owned: ConstructorParameters<typeof ReleasableLog>) {
    super(...owned);
    this.#log = log;
    this.#order = order;
  }

  get position(): number {
    return this.#log.position;
  }

  async append(entry: LogAppend, expectedPosition: number): Promise<number> {
    this.assertOwned();
    const isNew = expectedPosition === this.position;
    const position = this.#log.append(entry, expectedPosition, this.generation);
    if (isNew && entry.summary) this.#order.set(entry.summary);
    await nextTurn();
    return position;
  }

  async prune(): Promise<void> {
    this.assertOwned();
    this.#log.prune();
  }

  async drop(): Promise<void> {
    this.assertOwned();
    this.#log.clear();
    this.#order.delete(this.agentId);
    await this.release();
  }
}

/** Stores blobs in memory. Copies the bytes in both directions, so that callers cannot change stored bytes. */
export class MemoryBlobStore implements BlobStore {
  readonly #sha256: () => Promise<Sha256>;
  readonly #blobs = new Map<string, Map<string, Uint8Array>>();

  constructor(sha256: () => Promise<Sha256>) {
    this.#sha256 = sha256;
  }

  async put(agentId: string, generation: number, bytes: Uint8Array, encoding?: "gzip"): Promise<string> {
    const copy = bytes.slice();
    const reference = formatBlobReference({ hash: (await this.#sha256()).hex(copy), generation, encoding });
    this.#set(agentId, reference, copy);
    return reference;
  }

  async get(agentId: string, reference: string): Promise<Uint8Array | undefined> {
    const bytes = this.#blobs.get(agentId)?.get(reference);
    if (bytes && (await this.#sha256()).hex(bytes) !== parseBlobReference(reference)?.hash)
      throw new CorruptBlobError(agentId, reference);
    return bytes?.slice();
  }

  async putNamed(agentId: string, reference: string, bytes: Uint8Array): Promise<void> {
    this.#set(agentId, reference, bytes.slice());
  }

  async getNamed(agentId: string, reference: string): Promise<Uint8Array | undefined> {
    return this.#blobs.get(agentId)?.get(reference)?.slice();
  }

  async copy(fromAgentId: string, reference: string, toAgentId: string): Promise<boolean> {
    const bytes = this.#blobs.get(fromAgentId)?.get(reference);
    if (bytes === undefined) return false;
    // Both agents may share the bytes, because blobs never change.
    this.#set(toAgentId, reference, bytes);
    return true;
  }

  async delete(agentId: string, reference: string): Promise<void> {
    this.#blobs.get(agentId)?.delete(reference);
  }

  clear(agentId: string): void {
    this.#blobs.delete(agentId);
  }

  #set(agentId: string, reference: string, bytes: Uint8Array): void {
    const ofAgent = this.#blobs.get(agentId) ?? new Map<string, Uint8Array>();
    this.#blobs.set(agentId, ofAgent.set(reference, bytes));
  }
}

type Listed = Pick<AgentSummary, "agentId" | "status" | "order" | "dueAt" | "updatedAt">;
type Place = Pick<Listed, "order" | "agentId">;

/**
 * The agents in memory in list order, grouped by status, and by due time. So a list reads little more than its results.
 */
class SummaryOrder {
  readonly #listed = new Map<string, Listed>();
  readonly #ofStatus = new Map<string, Listed[]>();
  /** The agents with a due time, earliest first. */
  readonly #due: Listed[] = [];

  set({ agentId, status, order, dueAt, updatedAt }: Listed): void {
    this.delete(agentId);
    const listed: Listed = withoutUndefined({ agentId, status, order, dueAt, updatedAt });
    const others = this.#ofStatus.get(status) ?? [];
    this.#listed.set(agentId, listed);
    this.#ofStatus.set(status, others);
    others.splice(placeOf(listed, others), 0, listed);
    if (dueAt !== undefined) this.#due.splice(this.#dueUntil(dueAt), 0, listed);
  }

  delete(agentId: string): void {
    const listed = this.#listed.get(agentId);
    if (!listed) return;
    const others = this.#ofStatus.get(listed.status) ?? [];
    others.splice(placeOf(listed, others), 1);
    if (listed.dueAt !== undefined) this.#due.splice(this.#due.indexOf(listed), 1);
    this.#listed.delete(agentId);
  }

  /** Yields the matching agents in order. Later changes are visible at positions that were not read yet. */
  *select(options: Omit<ListOptions, "free" | "limit">): Generator<Listed> {
    const { status, after = "", dueBefore } = options;
    if (dueBefore !== undefined) {
      const due = this.#due.slice(0, this.#dueUntil(dueBefore));
      return yield* due.filter((each) => isSelected(each, options)).sort(compareSummaries);
    }
    let last: Place = { order: after, agentId: "" };
    for (let next = this.#next(status, last); next; next = this.#next(status, last)) {
      if (isSelected(next, options)) yield next;
      last = { order: next.order, agentId: `${next.agentId}\0` };
    }
  }

  #next(asked: ListOptions["status"], from: Place): Listed | undefined {
    let first: Listed | undefined;
    for (const [status, listed] of this.#ofStatus) {
      const next = isAmong(status, asked) ? listed[placeOf(from, listed)] : undefined;
      if (next && (!first || compareSummaries(next, first) < 0)) first = next;
    }
    return first;
  }

  #dueUntil(time: string): number {
    const ms = Date.parse(time);
    return countFirst(this.#due, ({ dueAt = "" }) => Date.parse(dueAt) <= ms);
  }
}

function placeOf(place: Place, listed: readonly Listed[]): number {
  return countFirst(listed, (other) => compareSummaries(other, place) < 0);
}
