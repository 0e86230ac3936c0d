import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import { StopRequestedError } from "../../errors/runErrors.ts";
import {
  AlreadyExistsError,
  OwnershipLostError,
  PositionConflictError,
  StorageClosedError,
} from "../../errors/storageErrors.ts";
import type { CorruptLogError } from "../../errors/storedDataErrors.ts";
import type { Clock } from "../../internal/Clock.ts";
import { Mutex } from "../../internal/Mutex.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { Watchers } from "../lease/Watchers.ts";
import { LeaseRenewal } from "../lease/LeaseRenewal.ts";
import type { LogAppend, OwnedLog, StoredAppends, RecordLog } from "../RecordLog.ts";
import { askAgain, askTableAgain, askTable } from "./askTable.ts";
import type { LogTable, TableAppend, TablePublication } from "./LogTable.ts";
import type { TableOwners } from "./TableOwners.ts";
import { type TableLogEnd, TableReader } from "./TableReader.ts";
import { quoted } from "../../errors/AgentPersistenceError.ts";
import { hasSnapshot } from "../../checkpoint/format/entryCodec.ts";
import { ReceivedAppends } from "../../checkpoint/format/ReceivedAppends.ts";
import { encodeRow, isSameBytes } from "./encodeRow.ts";

export interface TableBackend {
  readonly table: LogTable;
  readonly owners: TableOwners;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly retryMs: number;
  readonly sha256: Sha256;
  /** Notified when an agent is released. Empty if the table has `watch`. */
  readonly watchers: Watchers;
}

export interface ClaimedLog extends TableLogEnd {
  readonly agentId: string;
  readonly generation: number;
  readonly session: string;
  /** The monotonic time before the claim, at which its lease begins. */
  readonly since: number;
}

/**
 * A log in a table that this process owns. It stores one append at a time and retries an append if its response is
 * lost. The table accepts an append only directly after the previous one, so retries never store it twice. The first
 * failure ends the ownership.
 */
export class TableOwnedLog implements OwnedLog {
  readonly agentId: string;
  readonly damage: CorruptLogError | undefined;
  readonly #backend: TableBackend;
  readonly #session: string;
  readonly #reader: TableReader;
  readonly #renewal: LeaseRenewal;
  readonly #lost = new AbortController();
  readonly #turns = new Mutex();
  readonly #onEnd: () => void;
  #end: ChainLink;
  /** The end of the log after all queued appends. If one fails, all later ones also fail. */
  #expectedEnd: ChainLink;
  /** Set once this owner has ended. `reason` is the failure, if any. */
  #ended: { readonly reason: Error | undefined } | undefined;
  #generation: number;
  /** Whether the last summary of this owner belongs to a run that has ended, so that no worker waits for a release. */
  #isOver = false;
  /** Set while the generation changes or the owner is released, because a renewal then finds another state. */
  #moving = false;

  constructor(backend: TableBackend, claimed: ClaimedLog, onEnd: () => void) {
    const { agentId, generation, session, since, end, damage } = claimed;
    this.agentId = agentId;
    this.damage = damage;
    this.#generation = generation;
    this.#backend = backend;
    this.#session = session;
    this.#reader = new TableReader(backend, agentId, backend.sha256);
    this.#renewal = new LeaseRenewal(backend.clock, backend.leaseMs, (...given) => this.#renew(...given));
    this.#onEnd = onEnd;
    this.#end = end;
    this.#expectedEnd = end;
    this.#renewal.continue(since);
  }

  /** Whether the agent has no appends, as before the first append or after a deletion. */
  get isEmpty(): boolean {
    return this.damage === undefined && this.#end.checksum === "";
  }

  get position(): number {
    return this.#end.position;
  }

  get generation(): number {
    return this.#generation;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Handles a request from this process without waiting for the next renewal. */
  requestStop(reason: string): void {
    this.#lost.abort(new StopRequestedError(this.agentId, reason));
  }

  async checkStop(): Promise<void> {
    if (this.#ended !== undefined || this.lost.aborted) return;
    const head = await this.#ask("read", () => this.#backend.table.head(this.agentId));
    if (head?.generation === this.generation && head.stop !== undefined) this.requestStop(head.stop);
  }

  async append(entry: LogAppend, expectedPosition: number): Promise<number> {
    if (this.damage) throw this.damage;
    const { sha256 } = this.#backend;
    if (expectedPosition !== this.#expectedEnd.position)
      return this.#inTurn(() => this.#acknowledgeAgain(entry.id, expectedPosition));
    // Encodes before the first await, because the caller may change the entry afterwards.
    const { row, end } = encodeRow(this.agentId, entry, this.generation, this.#expectedEnd, sha256);
    this.#expectedEnd = end;
    const releases = entry.releases === true && this.#backend.table.appendAndRelease !== undefined;
    return this.#inTurn(() => (releases ? this.#storeAndRelease(row, end) : this.#store(row, end)));
  }

  /** Receives the appends of another log and one more, visible at once. Call it before the owner gets the log. */
  async receive(received: StoredAppends, last: LastAppend): Promise<void> {
    const { table, sha256 } = this.#backend;
    if (this.damage) throw this.damage;
    if (!this.isEmpty) throw new AlreadyExistsError("agent_exists", this.agentId);
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
    this.#end = published.end;
    this.#expectedEnd = published.end;
  }

  prune(): Promise<void> {
    return this.#inTurn(() =>
      this.#orEnd(async () => {
        const ranges = await this.#reader.removed();
        const remove = () => this.#backend.table.remove(this.agentId, this.generation, ranges);
        if (ranges.length > 0 && !(await this.#ask("prune", remove))) throw await this.#replaced();
      }),
    );
  }

  drop(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#orEnd(async () => {
        const drop = () => this.#backend.table.drop(this.agentId, this.generation);
        if (!(await this.#askOnce("drop", drop))) throw await this.#replaced();
      });
      await this.#finish();
    });
  }

  release(): Promise<void> {
    return this.#turns.runExclusive(async () => {
      if (this.#ended !== undefined) return;
      await this.#finish();
      const release = () => this.#backend.table.release(this.agentId, this.generation);
      // If the release fails, other processes see a silent owner, and this process treats it as finished.
      await this.#askOnce("release", release).catch(() => this.#backend.owners.finish(this.#session));
      this.#tellReleased();
    });
  }

  #tellReleased(): void {
    if (!this.#isOver) this.#backend.watchers.tell();
  }

  async #store(row: TableAppend, end: ChainLink): Promise<number> {
    const { table } = this.#backend;
    await this.#orEnd(async () => {
      // The caller may cause effects after this append resolves, so the lease must be fresh.
      await this.#renewal.refresh();
      await this.#storeAgain(row, () => table.append(this.agentId, this.generation, row));
      // Refreshes again if retries took most of the lease.
      await this.#renewal.refresh();
    });
    return this.#stored(row, end);
  }

  /** Stores the last append of this owner. Once it is possibly stored, a renewal finds no owner. */
  async #storeAndRelease(row: TableAppend, end: ChainLink): Promise<number> {
    const { table } = this.#backend;
    await this.#orEnd(async () => {
      await this.#renewal.refresh();
      this.#moving = true;
      const store = async () => (await table.appendAndRelease?.(this.agentId, this.generation, row)) ?? false;
      await this.#storeAgain(row, store);
    });
    this.#stored(row, end);
    await this.#finish();
    this.#tellReleased();
    return end.position;
  }

  #stored(row: TableAppend, end: ChainLink): number {
    this.#end = end;
    if (row.summary) this.#isOver = row.summary.status === "completed";
    return end.position;
  }

  async #storeAgain(row: TableAppend, store: () => Promise<boolean>): Promise<void> {
    if (!(await askAgain(this.#backend, () => this.#storeOnce(row, store))))
      throw await this.#refusal(row.position - 1);
  }

  /** Stores an append once. A rejected append counts as stored if an earlier attempt already stored the same row. */
  async #storeOnce(row: TableAppend, store: () => Promise<boolean>): Promise<boolean> {
    if (await this.#askOnce("append", store)) return true;
    const found = await this.#reader.at(row.position);
    return found !== undefined && isSameBytes(found.encoded, row.encoded);
  }

  async #acknowledgeAgain(id: string, expectedPosition: number): Promise<number> {
    const row = await this.#reader.at(expectedPosition + 1);
    if (row !== undefined && this.#reader.decode(row).id === id) return row.position;
    throw new PositionConflictError(this.agentId, expectedPosition, this.#end.position);
  }

  async #refusal(expectedPosition: number): Promise<Error> {
    const head = await this.#ask("read", () => this.#backend.table.head(this.agentId));
    if (head?.generation !== this.generation || head.owner === undefined) return this.#lose(head?.generation);
    return new PositionConflictError(this.agentId, expectedPosition, await this.#reader.lastPosition());
  }

  async #replaced(): Promise<OwnershipLostError> {
    const head = await this.#ask("read", () => this.#backend.table.head(this.agentId)).catch(() => undefined);
    return this.#lose(head?.generation);
  }

  #lose(successor: number | undefined): OwnershipLostError {
    const next = successor !== undefined && successor > this.generation ? successor : undefined;
    const error = new OwnershipLostError(this.agentId, this.generation, next);
    this.#lost.abort(error);
    return error;
  }

  async #renew(number: number, stopped: AbortSignal): Promise<void> {
    const { table, owners } = this.#backend;
    const { generation } = this;
    const renew = () => table.renew(this.agentId, generation, owners.beat(number));
    const retried = { ...this.#backend, signal: stopped };
    const renewed = await askTableAgain(retried, "renewal", this.agentId, renew);
    const isOver = this.#ended !== undefined || this.#moving || generation !== this.generation;
    if (renewed === undefined && !isOver) this.#lose(undefined);
    if (renewed?.stop !== undefined) this.requestStop(renewed.stop);
  }

  /** Publishes the received appends. After an unknown outcome, checks whether the publication was stored. */
  async #publish(published: TablePublication): Promise<void> {
    const { table, owners } = this.#backend;
    try {
      await this.#owning("publish", () => table.publish?.(this.agentId, this.generation, published));
    } catch (error) {
      // Equal lines do not prove the write, because another owner can also write them. So the owner is compared.
      const head = await this.#ask("read", () => table.head(this.agentId)).catch(() => undefined);
      if (head?.generation !== published.generation || !owners.isOf(head, this.#session)) throw error;
      // The owner does not prove the write, because a table can store the generation first.
      const { position, encoded } = published.append;
      const row = await this.#reader.at(position).catch(() => undefined);
      if (row === undefined || !isSameBytes(row.encoded, encoded)) throw error;
    }
  }

  async #owning(operation: string, call: () => Promise<boolean> | undefined): Promise<void> {
    if (!(await this.#askOnce(operation, async () => (await call()) ?? false))) throw await this.#replaced();
  }

  /** Ends the ownership on failure, because the content of the table is then unknown. */
  async #orEnd<Result>(action: () => Promise<Result>): Promise<Result> {
    try {
      return await action();
    } catch (error) {
      this.#backend.owners.finish(this.#session);
      await this.#finish(error as Error);
      throw error;
    }
  }

  async #finish(reason?: Error): Promise<void> {
    this.#ended = { reason };
    await this.#renewal.stop();
    this.#onEnd();
  }

  #inTurn<Result>(action: () => Promise<Result>): Promise<Result> {
    return this.#turns.runExclusive(() => {
      if (this.#ended !== undefined) throw this.#ended.reason ?? this.#closedError();
      return action();
    });
  }

  #ask<Result>(operation: string, call: () => Promise<Result>): Promise<Result> {
    return askTableAgain(this.#backend, operation, this.agentId, call);
  }

  #askOnce<Result>(operation: string, call: () => Promise<Result>): Promise<Result> {
    return askTable(this.#backend.table, operation, this.agentId, call);
  }

  #closedError(): StorageClosedError {
    return new StorageClosedError(`The log of agent ${quoted(this.agentId)}`);
  }
}

type LastAppend = Parameters<NonNullable<RecordLog["receive"]>>[3];

const appendsAtOnce = 100;

/** Checks and stages the appends of another log in batches. Returns their start and end. */
async function stageAppends(
  { appends, generation }: StoredAppends,
  agentId: string,
  sha256: Sha256,
  stage: (appends: readonly TableAppend[], first: boolean) => Promise<void>,
): Promise<{ readonly start: number; readonly end: ChainLink }> {
  const checked = new ReceivedAppends(agentId, generation, sha256);
  let waiting: TableAppend[] = [];
  let staged = false;
  let start: number | undefined;
  const flush = async () => {
    await stage(waiting, !staged);
    [waiting, staged] = [[], true];
  };
  for await (const encoded of appends) {
    const known = checked.gaps.length;
    const { position } = checked.accept(encoded);
    start ??= position - 1;
    const pruned = checked.gaps.length > known;
    waiting.push({ position, encoded: new Uint8Array(encoded), snapshot: hasSnapshot(encoded), pruned });
    if (waiting.length >= appendsAtOnce) await flush();
  }
  const end = checked.end();
  await flush();
  return { start: start ?? 0, end };
}
