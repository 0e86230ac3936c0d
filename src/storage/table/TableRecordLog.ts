import type { Entry } from "../../checkpoint/records/Entry.ts";
import { AgentBusyError } from "../../errors/storageErrors.ts";
import { type Clock, systemClock } from "../../internal/Clock.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { numberFrom, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import { platformIdentity } from "../../nodejs/nodeProcessIdentity.ts";
import type { ProcessIdentity } from "../../nodejs/ProcessIdentity.ts";
import { type BlobStore, noBlobStore } from "../BlobStore.ts";
import { leaseOptions, logArguments } from "../appends/logArguments.ts";
import { OwnedLogs } from "../lease/OwnedLogs.ts";
import type {
  AgentSummary,
  ListOptions,
  LogCapabilities,
  LogOwner,
  LogWatch,
  NewAgent,
  OwnedLog,
  ReadOptions,
  ReceiveArguments,
  RecordLog,
} from "../RecordLog.ts";
import { askAgain, askTableAgain, type RetriedTable, askTable } from "./askTable.ts";
import { createAgents } from "./createAgents.ts";
import { listTable, listedSummary } from "./listTable.ts";
import { isSelected } from "../summaries.ts";
import type { LogTable, TableClaimed, TableListed, TableSighting, TableBlobs, TablePage } from "./LogTable.ts";
import { type TableBackend, TableOwnedLog } from "./TableOwnedLog.ts";
import { TableOwners } from "./TableOwners.ts";
import { longestLeaseMs } from "../lease/Sightings.ts";
import { type TableLogEnd, TableReader } from "./TableReader.ts";
import type { z } from "zod";
import { parseBlobReference } from "../blobs.ts";
import { HashedBlobs } from "../HashedBlobs.ts";

/** Options of a storage that keeps logs in database tables. */
export interface TableRecordLogOptions {
  /**
   * The lease in milliseconds. An owner renews the lease every third of this time, and can be replaced after the lease
   * expires. Values above one day are treated as one day. Defaults to 15,000.
   */
  readonly leaseMs?: number | undefined;
  /**
   * How long to retry a call, in milliseconds, if the database cannot be reached or a response is lost. Applies to
   * appends, renewals, reads, lists, opening, and blobs in the table, but not to deletions and imports. 0 disables
   * retries. Defaults to 30,000.
   */
  readonly retryMs?: number | undefined;
  /** The store for blobs. Defaults to the table. Required if the table does not store blobs. */
  readonly blobs?: BlobStore | undefined;
  /** The clock for leases, unless the database has a clock. Defaults to the system clock. */
  readonly clock?: Clock | undefined;
  /** The identity of this process. Defaults to the identity that the system reports. */
  readonly processIdentity?: ProcessIdentity | undefined;
  /** Defaults to the SHA-256 of Node, or to a JavaScript implementation on other platforms. */
  readonly sha256?: Sha256 | undefined;
}

export const tableRecordLogShape: Readonly<Record<keyof TableRecordLogOptions, z.ZodType>> = {
  ...leaseOptions,
  retryMs: numberFrom(0).optional(),
  blobs: objectWithMethods<BlobStore>("put", "get", "delete").optional(),
};

const optionsSchema = strictOptions(() => tableRecordLogShape);
const tableSchema = objectWithMethods<LogTable>(
  ...(["head", "claim", "renew", "release", "requestStop", "append"] as const),
  ...(["rows", "pruned", "remove", "drop", "list"] as const),
);

interface Claimed extends Omit<TableClaimed, "last">, Partial<Pick<TableClaimed, "last">> {
  readonly session: string;
  readonly since: number;
}

/** The maximum number of attempts to claim an agent while other processes claim it too. */
const maxAttempts = 8;

/**
 * Stores logs in a database. Encodes and verifies appends and manages leases. A {@link LogTable} stores the rows.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 *
 * @example
 * ```ts
 * const log = new TableRecordLog(new MyTable(connection), { leaseMs: 30_000 });
 * const storage = new LogPersistenceStorageProvider(log);
 * ```
 */
export class TableRecordLog implements RecordLog {
  readonly version = "v1";
  readonly blobs: BlobStore;
  /** `undefined` if the table cannot import logs. */
  readonly receive?: NonNullable<RecordLog["receive"]>;
  /** `undefined` if the table cannot create several agents. */
  readonly createMany?: NonNullable<RecordLog["createMany"]>;
  /** The table, which `recordLogConformance` also tests separately. */
  readonly table: LogTable;
  readonly #settings: Omit<TableBackend, "sha256">;
  readonly #retried: Omit<TableBackend, "sha256"> & RetriedTable;
  readonly #sha256: () => Promise<Sha256>;
  readonly #owned: OwnedLogs<TableOwnedLog>;
  /** Functions that close the subscriptions of `watch`. */
  readonly #watches = new Set<() => Promise<void>>();
  /** Owned logs with a single append, which opening the log has read. Kept until the first `read`. */
  readonly #whole = new Map<string, { readonly owned: TableOwnedLog; readonly page: TablePage }>();

  constructor(table: LogTable, options: TableRecordLogOptions = {}) {
    checkSchema(tableSchema, table, "table of a log");
    checkSchema(optionsSchema, options, "options of a log in a table");
    const { retryMs = 30_000, clock = systemClock, processIdentity, sha256 } = options;
    const leaseMs = Math.min(options.leaseMs ?? 15_000, longestLeaseMs);
    const identity = processIdentity ?? platformIdentity();
    const owners = new TableOwners({ clock, leaseMs, identity, oneMachine: table.capabilities.machines === "one" });
    this.table = table;
    this.#owned = new OwnedLogs(`The log in ${table.name}`);
    this.#settings = { table, owners, clock, leaseMs, retryMs, watchers: this.#owned.watchers };
    this.#sha256 = () => (sha256 === undefined ? platformSha256() : Promise.resolve(sha256));
    this.#retried = { ...this.#settings, signal: this.#owned.closing };
    const own = table.blobs && new TableBlobStore(table.blobs, this.#settings, this.#sha256);
    this.blobs = options.blobs ?? own ?? noBlobStore;
    if (table.stage && table.publish) this.receive = (...given) => this.#receive(...given);
    if (table.create) this.createMany = (agents) => this.#createMany(agents);
  }

  /** The capabilities of the table. The log always supports all list options. */
  get capabilities(): LogCapabilities {
    return { listing: "exact", ...this.table.capabilities, narrows: true };
  }

  open(agentId: string, owner: LogOwner): Promise<OwnedLog> {
    return this.#open(agentId, owner);
  }

  async *encodedAppends(agentId: string, options: { readonly upTo?: number } = {}): AsyncGenerator<Uint8Array> {
    checkSchema(logArguments.encodedAppends, options, "options of encodedAppends()");
    yield* (await this.#reader(agentId)).encodedAppends(options.upTo);
  }

  async *read(agentId: string, options: ReadOptions = {}): AsyncGenerator<Entry> {
    checkSchema(logArguments.read, options, "options of read()");
    yield* (await this.#reader(agentId)).read(options, this.#takeWhole(agentId, options));
  }

  async *list({ limit = Infinity, ...selection }: ListOptions = {}): AsyncGenerator<AgentSummary> {
    const { free, after: _applied, ...fields } = selection;
    this.#owned.assertOpen();
    const sha256 = await this.#sha256();
    let left = limit;
    for await (const listed of left > 0 ? listTable(this.#retried, selection, free ? Infinity : left) : []) {
      const summary = listedSummary(listed, this.table, sha256);
      if (!isSelected(summary, fields) || (free && this.#isOwned(listed))) continue;
      yield summary;
      if (--left <= 0) return;
    }
  }

  async unremovedBytes(agentId: string): Promise<number> {
    const reader = await this.#reader(agentId);
    return reader.bytesOf(await reader.removed());
  }

  async owner(agentId: string): ReturnType<RecordLog["owner"]> {
    this.#owned.assertUsable(agentId);
    const head = await this.#ask("read", agentId, () => this.table.head(agentId));
    const judged = this.#settings.owners.judge(agentId, head);
    if (head === undefined || judged === undefined) return undefined;
    const { host, processId, nonce, incarnation } = judged.owner;
    const { generation } = head;
    return { host, processId, nonce, ...(incarnation && { incarnation }), generation, state: judged.state };
  }

  async requestStop(agentId: string, reason: string): Promise<void> {
    checkSchema(logArguments.reason, reason, "reason of a stop");
    this.#owned.assertUsable(agentId);
    const head = await this.#ask("read", agentId, () => this.table.head(agentId));
    if (head?.owner === undefined) return;
    const { generation } = head;
    await this.#ask("request to stop", agentId, () => this.table.requestStop(agentId, generation, reason));
    this.#owned.requestStop(agentId, generation, reason);
  }

  async watch(onChange: () => void): Promise<LogWatch> {
    this.#owned.assertOpen();
    const watch = () => this.table.watch?.(onChange) ?? this.#owned.watchers.watch(onChange);
    const watching = await askTableAgain(this.#retried, "watch", undefined, watch);
    let closing: Promise<void> | undefined;
    const close = () => {
      this.#watches.delete(close);
      return (closing ??= watching.close());
    };
    this.#watches.add(close);
    if (this.#owned.closing.aborted) await close();
    this.#owned.assertOpen();
    return { close };
  }

  async close(): Promise<void> {
    await this.#owned.close();
    // If the connection of a subscription is lost, closing the subscription fails, which is ignored.
    await Promise.allSettled([...this.#watches].map((close) => close()));
  }

  async #createMany(agents: readonly NewAgent[]): Promise<readonly (boolean | Error)[]> {
    for (const { agentId } of agents) this.#owned.assertUsable(agentId);
    const created = await createAgents(this.#retried, agents, await this.#sha256());
    this.#owned.watchers.tell();
    return created;
  }

  async #receive(...[agentId, owner, received, last]: ReceiveArguments): Promise<OwnedLog> {
    return this.#owned.receive(await this.#open(agentId, owner), received, last);
  }

  async #open(agentId: string, owner: LogOwner): Promise<TableOwnedLog> {
    this.#owned.assertOpenable(agentId, owner);
    const backend = { ...this.#settings, sha256: await this.#sha256() };
    // A claim whose response is lost is possibly stored. Its session counts as finished, so that a retry can replace
    // the claim.
    const claimed = await askAgain(this.#retried, () => this.#claim(agentId, { ...owner }));
    const { generation, session, since } = claimed;
    const end = await this.#endOf(agentId, claimed, backend.sha256);
    const owned: TableOwnedLog = new TableOwnedLog(backend, { agentId, generation, session, since, ...end }, () => {
      this.#owned.delete(owned);
      this.#whole.delete(agentId);
    });
    if (claimed.last && isWhole(claimed.last)) this.#whole.set(agentId, { owned, page: claimed.last });
    return this.#owned.add(owned);
  }

  /** Returns the whole log of an owned agent if opening the log has read it. Only the owner could append since then. */
  #takeWhole(agentId: string, { after = 0, upTo }: ReadOptions): TablePage | undefined {
    const { owned, page } = this.#whole.get(agentId) ?? {};
    if (!page || owned?.position !== page.end || after > page.start || upTo !== undefined) return undefined;
    this.#whole.delete(agentId);
    return page;
  }

  /** Claims an agent that has no owner, or whose owner is no longer alive. */
  async #claim(agentId: string, owner: LogOwner): Promise<Claimed> {
    const { owners, clock, leaseMs } = this.#settings;
    const { session, ...claim } = owners.claim(owner);
    let replaced: TableSighting | undefined;
    let found = { ...owner, generation: 0 };
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const since = clock.monotonic();
      const call = () => this.table.claim(agentId, claim, replaced);
      const claimed = await askTable(this.table, "claim", agentId, call).catch((error: unknown) => {
        owners.finish(session);
        throw error;
      });
      if (typeof claimed === "number") return { generation: claimed, session, since };
      if (claimed !== undefined) return { ...claimed, session, since };
      const head = await this.#ask("read", agentId, () => this.table.head(agentId));
      const judged = owners.judge(agentId, head);
      replaced = head && judged && { generation: head.generation, beat: head.beat };
      if (head && judged) found = { ...judged.owner, generation: head.generation };
      if (judged?.state === "alive") throw busy(agentId, found, judged.retryAfterMs);
    }
    throw busy(agentId, found, leaseMs);
  }

  /** Reads the end of the log after the claim, because the previous owner could append until the claim. */
  async #endOf(agentId: string, { generation, session, last }: Claimed, sha256: Sha256): Promise<TableLogEnd> {
    // Generation 1 means that the agent never had an owner, so its log is empty.
    if (generation === 1) return { end: { position: 0, checksum: "" } };
    const reader = new TableReader(this.#retried, agentId, sha256);
    try {
      return last ? reader.endIn(last) : await reader.end();
    } catch (error) {
      this.#settings.owners.finish(session);
      await this.table.release(agentId, generation).catch(() => {});
      throw error;
    }
  }

  #isOwned({ agentId, head }: TableListed): boolean {
    return this.#settings.owners.judge(agentId, head)?.state === "alive";
  }

  async #reader(agentId: string): Promise<TableReader> {
    this.#owned.assertUsable(agentId);
    return new TableReader(this.#retried, agentId, await this.#sha256());
  }

  #ask<Result>(operation: string, agentId: string, call: () => Promise<Result>): Promise<Result> {
    return askTableAgain(this.#retried, operation, agentId, call);
  }
}

function isWhole({ start, rows: [row], end }: TablePage): boolean {
  return row?.position === start + 1 && row.position === end;
}

function busy(
  agentId: string,
  { host, processId, nonce, generation }: LogOwner & { readonly generation: number },
  retryAfterMs: number,
): AgentBusyError {
  return new AgentBusyError(agentId, { host, processId, nonce, generation }, retryAfterMs);
}

/** Stores blobs in a table by agent and reference. Blobs never change, so calls can be retried. */
class TableBlobStore extends HashedBlobs {
  readonly #blobs: TableBlobs;
  readonly #retried: RetriedTable;

  constructor(blobs: TableBlobs, retried: RetriedTable, sha256: () => Promise<Sha256>) {
    super(sha256);
    this.#blobs = blobs;
    this.#retried = retried;
  }

  async putNamed(agentId: string, reference: string, bytes: Uint8Array): Promise<void> {
    assertAgentId(agentId);
    await this.#ask("put of a blob", agentId, () => this.#blobs.put(agentId, reference, bytes));
  }

  async getNamed(agentId: string, reference: string): Promise<Uint8Array | undefined> {
    assertAgentId(agentId);
    if (parseBlobReference(reference) === undefined) return undefined;
    const bytes = await this.#ask("get of a blob", agentId, () => this.#blobs.get(agentId, reference));
    return bytes && new Uint8Array(bytes);
  }

  async copy(fromAgentId: string, reference: string, toAgentId: string): Promise<boolean> {
    assertAgentId(fromAgentId);
    assertAgentId(toAgentId);
    if (parseBlobReference(reference) === undefined) return false;
    return this.#ask("copy of a blob", toAgentId, () => this.#blobs.copy(fromAgentId, reference, toAgentId));
  }

  async delete(agentId: string, reference: string): Promise<void> {
    assertAgentId(agentId);
    if (parseBlobReference(reference) === undefined) return;
    await this.#ask("delete of a blob", agentId, () => this.#blobs.delete(agentId, reference));
  }

  protected async placeOf(): Promise<string> {
    return this.#retried.table.name;
  }

  #ask<Result>(operation: string, agentId: string, call: () => Promise<Result>): Promise<Result> {
    return askTableAgain(this.#retried, operation, agentId, call);
  }
}
