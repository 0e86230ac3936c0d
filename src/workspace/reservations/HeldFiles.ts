import { ReservationLostError } from "../../errors/workspace/ReservationLostError.ts";
import type { Clock } from "../../internal/Clock.ts";
import type { PathLock } from "./PathLock.ts";
import type { Reservation, ReservedFile } from "./Reservation.ts";

interface HeldOptions {
  readonly owner: string;
  readonly ttlMs: number;
  readonly keepAlive: boolean;
}

/**
 * The files that one request holds. It renews them automatically while more files are being acquired, since that can take
 * longer than `ttlMs`; afterwards only with `keepAlive`.
 */
export class HeldFiles implements Reservation {
  readonly #lock: PathLock;
  readonly #clock: Clock;
  readonly #options: HeldOptions;
  /** The deadline of each file by the monotonic clock. */
  readonly #deadlines = new Map<ReservedFile, number>();
  #isOver = false;
  #cancelRenewal = (): void => {};
  #renewal: Promise<void> = Promise.resolve();

  constructor(lock: PathLock, clock: Clock, options: HeldOptions) {
    this.#lock = lock;
    this.#clock = clock;
    this.#options = options;
    this.#renewLater();
  }

  get owner(): string {
    return this.#options.owner;
  }

  get files(): readonly ReservedFile[] {
    return [...this.#deadlines.keys()];
  }

  get held(): boolean {
    return !this.#isOver && Math.min(...this.#deadlines.values()) > this.#clock.monotonic();
  }

  add(file: ReservedFile, deadlineMs: number): void {
    this.#deadlines.set(file, deadlineMs);
  }

  /** All files are acquired. */
  complete(): this {
    if (!this.#options.keepAlive) this.#cancelRenewal();
    return this;
  }

  async renew(): Promise<void> {
    for (const file of this.files) {
      const deadlineMs = this.#isOver ? undefined : await this.#lock.renew(file);
      if (deadlineMs === undefined) {
        this.#isOver = true;
        throw new ReservationLostError(this.owner, file.path);
      }
      this.#deadlines.set(file, deadlineMs);
    }
  }

  /** Releases every file, even when one fails; then throws the first failure. */
  async release(): Promise<void> {
    this.#isOver = true;
    this.#cancelRenewal();
    await this.#renewal;
    const failures: unknown[] = [];
    for (const { path } of this.files)
      await this.#lock.release(path).catch((error: unknown) => void failures.push(error));
    if (failures.length > 0) throw failures[0];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  #renewLater(): void {
    this.#cancelRenewal = this.#clock.after(
      this.#options.ttlMs / 3,
      () => void (this.#renewal = this.#renewNow()),
      true,
    );
  }

  /** Tries again after a storage failure, and stops once the reservation is lost. */
  async #renewNow(): Promise<void> {
    await this.renew().catch(() => {});
    if (!this.#isOver) this.#renewLater();
  }
}
