import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import { quoted } from "../../errors/AgentPersistenceError.ts";
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
import type { LastAppend, LogAppend, OwnedLog, StoredAppends } from "../RecordLog.ts";

interface TakenLog {
  readonly agentId: string;
  readonly end: ChainLink;
  readonly damage?: CorruptLogError | undefined;
}

/** A log that this process owns under a lease. Stores one append at a time. The first failure ends the ownership. */
export abstract class LeasedOwnedLog<
  Encoded extends { readonly end: ChainLink } = { readonly end: ChainLink },
> implements OwnedLog {
  readonly agentId: string;
  readonly damage: CorruptLogError | undefined;
  protected readonly renewal: LeaseRenewal;
  /** Set even if a stop request was the first reason to give up the agent. */
  protected replaced: OwnershipLostError | undefined;
  readonly #lost = new AbortController();
  readonly #onEnd: () => void;
  readonly #turns = new Mutex();
  #end: ChainLink;
  /** The end of the log after all queued appends. If one append fails, all later appends also fail. */
  #expectedEnd: ChainLink;
  /** Set once this owner has ended. */
  #ended: Error | undefined;

  constructor(
    { clock, leaseMs }: { readonly clock: Clock; readonly leaseMs: number },
    { agentId, end, damage }: TakenLog,
    onEnd: () => void,
  ) {
    this.agentId = agentId;
    this.damage = damage;
    this.#end = end;
    this.#expectedEnd = end;
    this.#onEnd = onEnd;
    this.renewal = new LeaseRenewal(clock, leaseMs, (...given) => this.renew(...given));
  }

  abstract get generation(): number;
  abstract prune(): Promise<void>;
  abstract drop(): Promise<void>;

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  get position(): number {
    return this.#end.position;
  }

  /** Whether the agent has no appends, as before the first append or after a deletion. */
  get isEmpty(): boolean {
    return this.damage === undefined && this.#end.checksum === "";
  }

  async checkStop(): Promise<void> {
    if (!this.hasEnded && !this.lost.aborted) await this.readStop();
  }

  /** Handles a request from this process without waiting for the next renewal. */
  requestStop(reason: string): void {
    this.lose(new StopRequestedError(this.agentId, reason));
  }

  async append(entry: LogAppend, expectedPosition: number): Promise<number> {
    if (this.damage) throw this.damage;
    if (expectedPosition !== this.#expectedEnd.position)
      return this.inTurn(() => this.#acknowledgeAgain(entry.id, expectedPosition));
    // Encodes before the first await, because the caller may change the entry afterwards.
    const encoded = this.encode(entry, this.#expectedEnd);
    this.#expectedEnd = encoded.end;
    return this.inTurn(async () => {
      await this.orEnd(() => this.store(encoded));
      this.#end = encoded.end;
      await this.stored(encoded);
      return encoded.end.position;
    });
  }

  /**
   * Copies the appends of another log into this empty log, and adds one more append. Until all are stored, the log
   * stays empty. A release ends the copy, except in a subclass that locks the log while it copies.
   */
  async receive(received: StoredAppends, last: LastAppend): Promise<void> {
    if (this.damage) throw this.damage;
    if (!this.isEmpty) throw new AlreadyExistsError("agent_exists", this.agentId);
    const { end } = await this.storeReceived(received, last);
    this.#end = end;
    this.#expectedEnd = end;
  }

  release(): Promise<void> {
    return this.#turns.runExclusive(async () => {
      if (!this.hasEnded) await this.giveBack();
    });
  }

  protected get end(): ChainLink {
    return this.#end;
  }

  protected get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  protected abstract encode(entry: LogAppend, end: ChainLink): Encoded;
  /** Stores an append. A failure ends the ownership. */
  protected abstract store(encoded: Encoded): Promise<void>;
  /** Follows each stored append. */
  protected abstract stored(encoded: Encoded): Promise<void>;
  protected abstract storeReceived(received: StoredAppends, last: LastAppend): Promise<{ readonly end: ChainLink }>;
  /** Returns the id of a stored append. `undefined` if no append has this position. */
  protected abstract idAt(position: number): Promise<string | undefined>;
  protected abstract renew(beat: number, stopped: AbortSignal): Promise<void>;
  /** Looks for a request to stop. */
  protected abstract readStop(): Promise<void>;
  /** Releases the log in the storage. */
  protected abstract giveBack(): Promise<void>;
  /** Notes that this owner has ended although the storage names it. */
  protected abstract abandon(): void;

  /** Ends the ownership on failure, because the content of the storage is then unknown. */
  protected async orEnd<Result>(action: () => Promise<Result>): Promise<Result> {
    try {
      return await action();
    } catch (error) {
      this.abandon();
      if (error instanceof OwnershipLostError) this.lose(error);
      await this.finish(error as Error);
      throw error;
    }
  }

  protected async finish(reason: Error = this.#closedError()): Promise<void> {
    this.#ended = reason;
    await this.renewal.stop();
    this.#onEnd();
  }

  protected lose(error: OwnershipLostError | StopRequestedError): void {
    if (error instanceof OwnershipLostError) this.replaced ??= error;
    this.#lost.abort(error);
  }

  protected inTurn<Result>(action: () => Promise<Result>): Promise<Result> {
    return this.#turns.runExclusive(() => {
      if (this.#ended !== undefined) throw this.#ended;
      return action();
    });
  }

  async #acknowledgeAgain(id: string, expectedPosition: number): Promise<number> {
    const position = expectedPosition + 1;
    if ((await this.idAt(position)) === id) return position;
    throw new PositionConflictError(this.agentId, expectedPosition, this.position);
  }

  #closedError(): StorageClosedError {
    return new StorageClosedError(`The log of agent ${quoted(this.agentId)}`);
  }
}

/** Renews a lease every third of its duration, one renewal at a time, until it is stopped. */
class LeaseRenewal {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #renew: (beat: number, stopped: AbortSignal) => Promise<void>;
  #beat = 0;
  #renewedAt = -Infinity;
  #cancel: (() => void) | undefined;
  #current: Promise<void> = Promise.resolve();
  readonly #stopping = new AbortController();

  /** @param renew - receives the number of the renewal, from 0, and a signal that stops its retries. */
  constructor(clock: Clock, leaseMs: number, renew: (beat: number, stopped: AbortSignal) => Promise<void>) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.#renew = renew;
  }

  async start(): Promise<void> {
    this.#current = this.#renewOnce();
    await this.#current;
  }

  /** Starts with a lease since a time of the monotonic clock. Renews after a third of the lease. */
  continue(since: number): void {
    this.#beat++;
    this.#renewedAt = since;
    this.#renewLater(this.#clock.monotonic() - since);
  }

  /** Renews immediately, in addition to the regular renewals. */
  async now(): Promise<void> {
    await this.#current;
    if (!this.#stopping.signal.aborted) await this.#renewNext().catch(() => {});
  }

  /** Renews if the last renewal is older than half the lease, such as after sleep. Rejects if that fails. */
  async refresh(): Promise<void> {
    if (!this.#isOld()) return;
    await this.#current;
    if (this.#isOld() && !this.#stopping.signal.aborted) await this.#renewNext();
  }

  async stop(): Promise<void> {
    // A default reason is an error, whose stack costs more than the rest of a stop.
    this.#stopping.abort("stopped");
    this.#cancel?.();
    await this.#current;
  }

  async #renewOnce(): Promise<void> {
    await this.#renewNext().catch(() => {});
    if (!this.#stopping.signal.aborted) this.#renewLater();
  }

  #renewLater(elapsedMs = 0): void {
    this.#cancel = this.#clock.after(
      Math.max(0, this.#leaseMs / 3 - elapsedMs),
      () => {
        this.#current = this.#renewOnce();
      },
      true,
    );
  }

  async #renewNext(): Promise<void> {
    const began = this.#clock.monotonic();
    await this.#renew(this.#beat++, this.#stopping.signal);
    this.#renewedAt = began;
  }

  #isOld(): boolean {
    return this.#clock.monotonic() - this.#renewedAt > this.#leaseMs / 2;
  }
}
