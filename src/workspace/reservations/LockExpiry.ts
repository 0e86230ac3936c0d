import type { Clock } from "../../internal/Clock.ts";
import { isSurelyGone, type ProcessIdentity } from "../../node/ProcessIdentity.ts";
import type { LockEntry, LockState } from "./LockState.ts";

/**
 * Judges which entries are over. The wall clock is never asked: it jumps. An entry of this start of the machine has its
 * deadline on a monotonic clock that all processes share. Of any other nothing is known but that it changes with each
 * renewal: it is over when this process has seen it unchanged for as long as it was to last.
 */
export class LockExpiry {
  readonly #clock: Clock;
  readonly #identity: ProcessIdentity;
  readonly #sightings = new Map<string, { readonly expiresAt: string; readonly sinceMs: number }>();

  constructor(clock: Clock, identity: ProcessIdentity) {
    this.#clock = clock;
    this.#identity = identity;
  }

  /** The state without what is over. Who waited and died is passed over at once; who held a file keeps it to the expiry. */
  current(state: LockState): LockState {
    const { path, holders, waiting } = state;
    return {
      path,
      holders: holders.filter((entry) => this.leftMs(path, entry) > 0),
      waiting: waiting.filter((entry) => this.leftMs(path, entry) > 0 && !this.#isGone(entry)),
    };
  }

  /** Milliseconds until an entry is over, if it is not renewed. */
  leftMs(path: string, entry: LockEntry): number {
    const now = this.#clock.monotonic();
    if (entry.deadlineMs !== undefined && entry.process?.bootId === this.#identity.bootId)
      return Math.min(entry.deadlineMs - now, entry.ttlMs);
    return entry.ttlMs - (now - this.#unchangedSince(`${entry.id} ${path}`, entry.expiresAt, now));
  }

  #unchangedSince(key: string, expiresAt: string, now: number): number {
    const known = this.#sightings.get(key);
    if (known?.expiresAt === expiresAt) return known.sinceMs;
    this.#sightings.set(key, { expiresAt, sinceMs: now });
    return now;
  }

  #isGone({ process }: LockEntry): boolean {
    return process !== undefined && isSurelyGone(process, this.#identity);
  }
}
