import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import { prunedGapsOf } from "../../checkpoint/records/prunedGaps.ts";
import { StopRequestedError } from "../../errors/run/StopRequestedError.ts";
import { OwnershipLostError } from "../../errors/storage/OwnershipLostError.ts";
import { PositionConflictError } from "../../errors/storage/PositionConflictError.ts";
import { StorageClosedError } from "../../errors/storage/StorageClosedError.ts";
import type { Clock } from "../../internal/Clock.ts";
import { Mutex } from "../../internal/Mutex.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { encodeAppend } from "../ownership/encodeAppend.ts";
import { LeaseRenewal } from "../ownership/LeaseRenewal.ts";
import type { LogAppend, OwnedLog } from "../RecordLog.ts";
import { askTable, isUncertain } from "./askTable.ts";
import type { LogTable, TableAppend } from "./LogTable.ts";
import { tableSummary } from "./summaryText.ts";
import type { TableOwners } from "./TableOwners.ts";
import { TableReader } from "./TableReader.ts";

/** What the owners of one log share. */
export interface TableBackend {
  readonly table: LogTable;
  readonly owners: TableOwners;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly retryMs: number;
  readonly sha256: Sha256;
}

/** An agent that was just claimed. */
export interface ClaimedLog {
  readonly agentId: string;
  readonly generation: number;
  readonly session: string;
  /** Where its log ends. */
  readonly end: ChainLink;
}

const [shortestPauseMs, longestPauseMs] = [50, 5_000];

/**
 * A log in a table that this process owns. It stores one append at a time. If the answer to one is lost, it asks again: the
 * table stores an append only behind the one before it, so it is never stored twice. The first failure ends the ownership.
 */
export class TableOwnedLog implements OwnedLog {
  readonly agentId: string;
  readonly generation: number;
  readonly #backend: TableBackend;
  readonly #session: string;
  readonly #reader: TableReader;
  readonly #renewal: LeaseRenewal;
  readonly #lost = new AbortController();
  readonly #turns = new Mutex();
  readonly #onEnd: () => void;
  /** Where the log ends in the table. */
  #end: ChainLink;
  /** Where it will end when all that waits has been stored: if one fails, so does all after it. */
  #expectedEnd: ChainLink;
  #ended: Error | undefined;

  constructor(backend: TableBackend, { agentId, generation, session, end }: ClaimedLog, onEnd: () => void) {
    this.agentId = agentId;
    this.generation = generation;
    this.#backend = backend;
    this.#session = session;
    this.#reader = new TableReader(backend.table, agentId, backend.sha256);
    this.#renewal = new LeaseRenewal(backend.clock, backend.leaseMs, (beat) => this.#renew(beat));
    this.#onEnd = onEnd;
    this.#end = end;
    this.#expectedEnd = end;
    this.#renewal.continue();
  }

  get position(): number {
    return this.#end.position;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** For a request that was made in this process, which need not wait for the next renewal. */
  requestStop(reason: string): void {
    this.#lost.abort(new StopRequestedError(this.agentId, reason));
  }

  async append(entry: LogAppend, expectedPosition: number): Promise<number> {
    const { sha256 } = this.#backend;
    if (expectedPosition !== this.#expectedEnd.position)
      return this.#inTurn(() => this.#acknowledgeAgain(entry.id, expectedPosition));
    // Encoded before anything is waited for: afterwards the caller may change what it gave.
    const { line, end, summary } = encodeAppend(this.agentId, entry, this.generation, this.#expectedEnd, sha256);
    const row: TableAppend = {
      position: end.position,
      line: line.subarray(0, -1),
      snapshot: entry.snapshot === true,
      pruned: prunedGapsOf(entry.records).length > 0,
      ...(summary && { summary: tableSummary(summary, sha256) }),
    };
    this.#expectedEnd = end;
    return this.#inTurn(() => this.#store(row, end));
  }

  prune(_positions: readonly number[]): Promise<void> {
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
        if (!(await this.#ask("drop", drop))) throw await this.#replaced();
      });
      await this.#finish(this.#closedError());
    });
  }

  release(): Promise<void> {
    return this.#turns.runExclusive(async () => {
      if (this.#ended !== undefined) return;
      await this.#finish(this.#closedError());
      const release = () => this.#backend.table.release(this.agentId, this.generation);
      // An owner that could not say so is silent from now on, and has ended for this process.
      await this.#ask("release", release).catch(() => this.#backend.owners.finish(this.#session));
    });
  }

  async #store(row: TableAppend, end: ChainLink): Promise<number> {
    await this.#orEnd(async () => {
      // The caller may act on the world once this append resolves, so the lease must not be nearly over.
      await this.#renewal.refresh();
      if (!(await this.#isStored(row))) throw await this.#refusal(row.position - 1);
    });
    this.#end = end;
    return end.position;
  }

  /** Asks until the table has answered, for `retryMs` at most. */
  async #isStored(row: TableAppend): Promise<boolean> {
    const { clock, retryMs } = this.#backend;
    const giveUpAt = clock.monotonic() + retryMs;
    for (let pauseMs = shortestPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        return await this.#storeOnce(row);
      } catch (error) {
        if (!isUncertain(error) || clock.monotonic() >= giveUpAt) throw error;
      }
      await new Promise<void>((resolve) => void clock.after(pauseMs, resolve));
    }
  }

  /** Refused is also what an earlier attempt has stored: the row at its position then is this one. */
  async #storeOnce(row: TableAppend): Promise<boolean> {
    if (await this.#ask("append", () => this.#backend.table.append(this.agentId, this.generation, row))) return true;
    const found = await this.#reader.at(row.position);
    return found !== undefined && isSame(found.line, row.line);
  }

  async #acknowledgeAgain(id: string, expectedPosition: number): Promise<number> {
    const row = await this.#reader.at(expectedPosition + 1);
    if (row !== undefined && this.#reader.decode(row).id === id) return row.position;
    throw new PositionConflictError(this.agentId, expectedPosition, this.#end.position);
  }

  /** Why the table has not stored an append. */
  async #refusal(expectedPosition: number): Promise<Error> {
    const head = await this.#ask("read", () => this.#backend.table.head(this.agentId));
    if (head?.generation !== this.generation || head.owner === undefined) return this.#lose(head?.generation);
    const { start, row } = await this.#reader.last();
    return new PositionConflictError(this.agentId, expectedPosition, row?.position ?? start);
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

  async #renew(number: number): Promise<void> {
    const { table, owners } = this.#backend;
    const renewed = await this.#ask("renewal", () => table.renew(this.agentId, this.generation, owners.beat(number)));
    if (renewed === undefined && this.#ended === undefined) this.#lose(undefined);
    if (renewed?.stop !== undefined) this.requestStop(renewed.stop);
  }

  /** A failure ends the ownership: what the table holds is then unknown. */
  async #orEnd<Result>(action: () => Promise<Result>): Promise<Result> {
    try {
      return await action();
    } catch (error) {
      this.#backend.owners.finish(this.#session);
      await this.#finish(error as Error);
      throw error;
    }
  }

  async #finish(reason: Error): Promise<void> {
    this.#ended = reason;
    await this.#renewal.stop();
    this.#onEnd();
  }

  #inTurn<Result>(action: () => Promise<Result>): Promise<Result> {
    return this.#turns.runExclusive(() => {
      if (this.#ended !== undefined) throw this.#ended;
      return action();
    });
  }

  #ask<Result>(operation: string, call: () => Promise<Result>): Promise<Result> {
    return askTable(this.#backend.table, operation, this.agentId, call);
  }

  #closedError(): StorageClosedError {
    return new StorageClosedError(`The log of agent ${JSON.stringify(this.agentId)}`);
  }
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}
