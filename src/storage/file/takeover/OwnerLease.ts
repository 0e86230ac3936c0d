import { OwnershipLostError } from "../../../errors/storage/OwnershipLostError.ts";
import { StopRequestedError } from "../../../errors/run/StopRequestedError.ts";
import type { Clock } from "../../../internal/Clock.ts";
import type { FileBackend } from "../owner/FileBackend.ts";
import type { OwnedSegment } from "../owner/OwnedSegment.ts";
import { type AgentFolder, replaceAtomically } from "../layout/AgentFolder.ts";

/**
 * Shows others that an owner lives, and tells the owner what others want: with each renewal it writes its `.alive` file,
 * looks for its `.stop` file and for a higher generation.
 */
export class OwnerLease {
  readonly #backend: FileBackend;
  readonly #folder: AgentFolder;
  readonly #segment: () => OwnedSegment;
  readonly #renewal: LeaseRenewal;
  readonly #lost = new AbortController();

  constructor(backend: FileBackend, folder: AgentFolder, segment: () => OwnedSegment) {
    this.#backend = backend;
    this.#folder = folder;
    this.#segment = segment;
    this.#renewal = new LeaseRenewal(backend.clock, backend.leaseMs, (beat) => this.#renew(beat));
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  lose(error: OwnershipLostError | StopRequestedError): void {
    this.#lost.abort(error);
  }

  start(): Promise<void> {
    return this.#renewal.start();
  }

  stop(): Promise<void> {
    return this.#renewal.stop();
  }

  /** For an owner about to begin something: see {@link LeaseRenewal.refresh}. */
  refresh(): Promise<void> {
    return this.#renewal.refresh();
  }

  /** The owner continues under another generation, which only this owner could have linked. */
  async moved(from: number): Promise<void> {
    await this.removeFiles(from).catch(() => {});
    await this.#renewal.now();
  }

  async removeFiles(generation: number): Promise<void> {
    await this.#backend.disk.unlink(this.#folder.alive(generation));
    await this.#backend.disk.unlink(this.#folder.stop(generation));
  }

  async #renew(beat: number): Promise<void> {
    const { disk } = this.#backend;
    const segment = this.#segment();
    const { generation } = segment;
    const sign = Buffer.from(`${beat}\n`);
    await replaceAtomically(disk, this.#folder, this.#folder.alive(generation), generation, sign, false);
    const stop = await disk.readFile(this.#folder.stop(generation));
    if (stop !== undefined) this.lose(new StopRequestedError(this.#folder.agentId, stop.toString().trimEnd()));
    await segment.check().catch((error: unknown) => {
      if (error instanceof OwnershipLostError && segment === this.#segment()) this.lose(error);
    });
  }
}

/** Renews a lease each third of it, one renewal at a time, until it is stopped. */
export class LeaseRenewal {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #renew: (beat: number) => Promise<void>;
  #beat = 0;
  /** When the last renewal that succeeded began. */
  #renewedAt = -Infinity;
  #cancel: (() => void) | undefined;
  #current: Promise<void> = Promise.resolve();
  #stopped = false;

  /** @param renew given the number of the renewal, from 0. A rejection is tried again at the next. */
  constructor(clock: Clock, leaseMs: number, renew: (beat: number) => Promise<void>) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.#renew = renew;
  }

  /** Resolves after the first renewal. */
  async start(): Promise<void> {
    this.#current = this.#renewOnce();
    await this.#current;
  }

  /** Renews at once, beside the regular ones. */
  async now(): Promise<void> {
    await this.#current;
    if (!this.#stopped) await this.#renewNext().catch(() => {});
  }

  /** Renews if the last time is longer ago than half the lease, as after a sleep. Rejects when that fails. */
  async refresh(): Promise<void> {
    if (!this.#isOld()) return;
    await this.#current;
    if (this.#isOld() && !this.#stopped) await this.#renewNext();
  }

  /** Resolves when no renewal is under way any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#current;
  }

  async #renewOnce(): Promise<void> {
    await this.#renewNext().catch(() => {});
    if (this.#stopped) return;
    this.#cancel = this.#clock.after(
      this.#leaseMs / 3,
      () => {
        this.#current = this.#renewOnce();
      },
      true,
    );
  }

  async #renewNext(): Promise<void> {
    const began = this.#clock.monotonic();
    await this.#renew(this.#beat++);
    this.#renewedAt = began;
  }

  #isOld(): boolean {
    return this.#clock.monotonic() - this.#renewedAt > this.#leaseMs / 2;
  }
}
