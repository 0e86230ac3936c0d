import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import { OwnershipLostError, PositionConflictError } from "../../errors/storageErrors.ts";
import type { Clock } from "../../internal/Clock.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { Watchers } from "../Watchers.ts";
import { LeasedOwnedLog } from "../lease/LeasedOwnedLog.ts";
import type { LastAppend, LogAppend, StoredAppends } from "../RecordLog.ts";
import { askAgain, askTableAgain, askTable } from "./askTable.ts";
import type { LogTable, TableAppend, TablePublication } from "./LogTable.ts";
import type { TableOwners } from "./TableOwners.ts";
import { type TableLogEnd, TableReader } from "./TableReader.ts";
import { hasSnapshot } from "../../checkpoint/format/entryCodec.ts";
import { ReceivedAppends } from "../../checkpoint/format/ReceivedAppends.ts";
import { prunedGapsOf } from "../../checkpoint/records/Entry.ts";
import { encodeAppend } from "../appends/encodeAppend.ts";
import { orderBehindAgents } from "../summaries.ts";
import { tableSummary } from "./listTable.ts";

export interface TableBackend {
  readonly table: LogTable;
  readonly owners: TableOwners;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly retryMs: number;
  readonly sha256: Sha256;
  /** The listeners to call when an agent is released. The list is empty if the table has `watch`. */
  readonly watchers: Watchers;
}

interface ClaimedLog extends TableLogEnd {
  readonly agentId: string;
  readonly generation: number;
  readonly session: string;
  /** The monotonic time right before the claim, when the lease begins. */
  readonly since: number;
}

interface TableEncoded {
  readonly row: TableAppend;
  readonly end: ChainLink;
  /** Whether the table stores the append and the release in one write. */
  readonly releases?: boolean;
}

/**
 * A log in a table that this process owns. If the response of an append is lost, the log retries the append. The table
 * accepts only the next position, so a retry never stores an append twice.
 */
export class TableOwnedLog extends LeasedOwnedLog<TableEncoded> {
  readonly #backend: TableBackend;
  readonly #session: string;
  readonly #reader: TableReader;
  #generation: number;
  /** Whether the last stored status is `completed`, so that no worker waits for the release. */
  #isOver = false;
  /** True while the owner is released or its generation changes. A renewal then finds no owner. */
  #moving = false;

  constructor(backend: TableBackend, claimed: ClaimedLog, onEnd: () => void) {
    super(backend, claimed, onEnd);
    const { agentId, generation, session, since } = claimed;
    this.#generation = generation;
    this.#backend = backend;
    this.#session = session;
    this.#reader = new TableReader(backend, agentId, backend.sha256);
    this.renewal.continue(since);
  }

  get generation(): number {
    return this.#generation;
  }

  prune(): Promise<void> {
    return this.inTurn(() =>
      this.orEnd(async () => {
        const ranges = await this.#reader.removed();
        const remove = () => this.#backend.table.remove(this.agentId, this.generation, ranges);
        if (ranges.length > 0 && !(await this.#ask("prune", remove))) throw await this.#replaced();
      }),
    );
  }

  drop(): Promise<void> {
    return this.inTurn(async () => {
      await this.orEnd(async () => {
        const drop = () => this.#backend.table.drop(this.agentId, this.generation);
        if (!(await this.#askOnce("drop", drop))) throw await this.#replaced();
      });
      await this.finish();
    });
  }

  protected encode(entry: LogAppend, end: ChainLink): TableEncoded {
    const { sha256, table } = this.#backend;
    const releases = entry.releases === true && table.appendAndRelease !== undefined;
    return { ...encodeRow(this.agentId, entry, this.generation, end, sha256), releases };
  }

  protected async store({ row, releases }: TableEncoded): Promise<void> {
    const { table } = this.#backend;
    // The caller may call tools after this append, so the lease must be fresh.
    await this.renewal.refresh();
    // The append releases the agent, so a renewal may now find no owner.
    if (releases) this.#moving = true;
    const append = async () =>
      releases
        ? ((await table.appendAndRelease?.(this.agentId, this.generation, row)) ?? false)
        : table.append(this.agentId, this.generation, row);
    if (!(await askAgain(this.#backend, () => this.#storeOnce(row, append))))
      throw await this.#refusal(row.position - 1);
    // Retries possibly used up most of the lease.
    if (!releases) await this.renewal.refresh();
  }

  protected async stored({ row, releases }: TableEncoded): Promise<void> {
    if (row.summary) this.#isOver = row.summary.status === "completed";
    if (!releases) return;
    await this.finish();
    this.#tellReleased();
  }

  protected async storeReceived(received: StoredAppends, last: LastAppend): Promise<TableEncoded> {
    const { table, sha256 } = this.#backend;
    const { start, end } = await stageAppends(received, this.agentId, sha256, (appends, first) =>
      this.#owning("stage", () => table.stage?.(this.agentId, this.generation, appends, first)),
    );
    const generation = Math.max(this.generation, received.generation) + 1;
    const given = await last({ generation, position: end.position });
    const published = encodeRow(this.agentId, given, generation, end, sha256);
    this.#moving = true;
    try {
      await this.#publish({ generation, start, append: published.row });
      this.#generation = generation;
    } finally {
      this.#moving = false;
    }
    return published;
  }

  protected async idAt(position: number): Promise<string | undefined> {
    const row = await this.#reader.at(position);
    return row && this.#reader.decode(row).id;
  }

  protected async readStop(): Promise<void> {
    const head = await this.#ask("read", () => this.#backend.table.head(this.agentId));
    if (head?.generation === this.generation && head.stop !== undefined) this.requestStop(head.stop);
  }

  protected async giveBack(): Promise<void> {
    await this.finish();
    const release = () => this.#backend.table.release(this.agentId, this.generation);
    // After a failed release, this process treats the owner as gone. Other processes wait until its lease expires.
    await this.#askOnce("release", release).catch(() => this.abandon());
    this.#tellReleased();
  }

  protected override async finish(reason?: Error): Promise<void> {
    await super.finish(reason);
    this.#backend.table.ended?.(this.agentId, this.generation);
  }

  protected abandon(): void {
    this.#backend.owners.finish(this.#session);
  }

  #tellReleased(): void {
    if (!this.#isOver) this.#backend.watchers.tell();
  }

  /** Makes one attempt to store an append. Returns `true` if an earlier attempt already stored the append. */
  async #storeOnce(row: TableAppend, store: () => Promise<boolean>): Promise<boolean> {
    if (await this.#askOnce("append", store)) return true;
    const found = await this.#reader.at(row.position);
    return found !== undefined && isSameBytes(found.encoded, row.encoded);
  }

  async #refusal(expectedPosition: number): Promise<Error> {
    const head = await this.#ask("read", () => this.#backend.table.head(this.agentId));
    if (head?.generation !== this.generation || head.owner === undefined) return this.#loseTo(head?.generation);
    const { end } = await this.#reader.end();
    return new PositionConflictError(this.agentId, expectedPosition, end.position);
  }

  async #replaced(): Promise<OwnershipLostError> {
    const head = await this.#ask("read", () => this.#backend.table.head(this.agentId)).catch(() => undefined);
    return this.#loseTo(head?.generation);
  }

  #loseTo(successor: number | undefined): OwnershipLostError {
    const next = successor !== undefined && successor > this.generation ? successor : undefined;
    const error = new OwnershipLostError(this.agentId, this.generation, next);
    this.lose(error);
    return error;
  }

  protected async renew(number: number, stopped: AbortSignal): Promise<void> {
    const { table, owners } = this.#backend;
    const { generation } = this;
    const renew = () => table.renew(this.agentId, generation, owners.beat(number));
    const retried = { ...this.#backend, signal: stopped };
    const renewed = await askTableAgain(retried, "renewal", this.agentId, renew);
    const isOver = this.hasEnded || this.#moving || generation !== this.generation;
    if (renewed === undefined && !isOver) this.#loseTo(undefined);
    if (renewed?.stop !== undefined) this.requestStop(renewed.stop);
  }

  /** Publishes the received appends. If the call fails, checks whether the appends were published anyway. */
  async #publish(published: TablePublication): Promise<void> {
    const { table, owners } = this.#backend;
    try {
      await this.#owning("publish", () => table.publish?.(this.agentId, this.generation, published));
    } catch (error) {
      // Another owner can store the same append, so the owner is compared as well.
      const head = await this.#ask("read", () => table.head(this.agentId)).catch(() => undefined);
      if (head?.generation !== published.generation || !owners.isOf(head, this.#session)) throw error;
      // A table can store the generation before the append, so the append is compared too.
      const { position, encoded } = published.append;
      const row = await this.#reader.at(position).catch(() => undefined);
      if (row === undefined || !isSameBytes(row.encoded, encoded)) throw error;
    }
  }

  async #owning(operation: string, call: () => Promise<boolean> | undefined): Promise<void> {
    if (!(await this.#askOnce(operation, async () => (await call()) ?? false))) throw await this.#replaced();
  }

  #ask<Result>(operation: string, call: () => Promise<Result>): Promise<Result> {
    return askTableAgain(this.#backend, operation, this.agentId, call);
  }

  #askOnce<Result>(operation: string, call: () => Promise<Result>): Promise<Result> {
    return askTable(this.#backend.table, operation, this.agentId, call);
  }
}

const appendsAtOnce = 100;
/** A batch of appends ends when it reaches this size. */
const bytesAtOnce = 4 * 1024 * 1024;

/** Checks the appends of another log and stages them in batches. Returns the start and the end of that log. */
async function stageAppends(
  { appends, generation }: StoredAppends,
  agentId: string,
  sha256: Sha256,
  stage: (appends: readonly TableAppend[], first: boolean) => Promise<void>,
): Promise<{ readonly start: number; readonly end: ChainLink }> {
  const checked = new ReceivedAppends(agentId, generation, sha256);
  let waiting: TableAppend[] = [];
  let bytes = 0;
  let staged = false;
  let start: number | undefined;
  const flush = async () => {
    await stage(waiting, !staged);
    [waiting, bytes, staged] = [[], 0, true];
  };
  for await (const encoded of appends) {
    const known = checked.gaps.length;
    const { position } = checked.accept(encoded);
    start ??= position - 1;
    const pruned = checked.gaps.length > known;
    waiting.push({ position, encoded: new Uint8Array(encoded), snapshot: hasSnapshot(encoded), pruned });
    bytes += encoded.length;
    if (waiting.length >= appendsAtOnce || bytes >= bytesAtOnce) await flush();
  }
  const end = checked.end();
  await flush();
  return { start: start ?? 0, end };
}

/**
 * Encodes the next append of a log. The table stores the summary in separate columns. If the log does not belong to an
 * agent, such as a session, the append contains the summary as well, so that archives include it.
 */
export function encodeRow(
  agentId: string,
  { summary, ...append }: LogAppend,
  generation: number,
  end: ChainLink,
  sha256: Sha256,
): { readonly row: TableAppend; readonly end: ChainLink } {
  const kept = summary?.order.startsWith(orderBehindAgents) ? { summary } : {};
  const appended = encodeAppend(agentId, { ...append, ...kept }, generation, end, sha256);
  const { position } = appended.end;
  const row = {
    position,
    encoded: appended.encoded.subarray(0, -1),
    snapshot: append.snapshot ?? false,
    pruned: prunedGapsOf(append.records).length > 0,
    ...(summary && { summary: tableSummary({ ...summary, agentId, position }, sha256) }),
  };
  return { row, end: appended.end };
}

export function isSameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}
