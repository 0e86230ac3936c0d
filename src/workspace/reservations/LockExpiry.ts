import type { Clock } from "../../internal/Clock.ts";
import { isSurelyGone, type ProcessIdentity } from "../../node/ProcessIdentity.ts";
import type { LockEntry, LockState } from "./LockState.ts";

/**
 * Decides which entries have expired. It never uses the wall clock, which can jump. An entry of this boot has its deadline
 * on a monotonic clock that all processes share. Any other entry is only known to change with each renewal: it has expired
 * when this process saw it unchanged for its whole `ttlMs`.
 */
export class LockExpiry {
  readonly #clock: Clock;
  readonly #identity: ProcessIdentity;
  readonly #sightings = new Map<string, { readonly expiresAt: string; readonly sinceMs: number }>();

  constructor(clock: Clock, identity: ProcessIdentity) {
    this.#clock = clock;
    this.#identity = identity;
  }

  /** The state without expired entries. A waiting process that died loses its place at once; a holder keeps the file until it expires. */
  current(state: LockState): LockState {
    const { path, holders, waiting } = state;
    return {
      path,
      holders: holders.filter((entry) => this.leftMs(path, entry) > 0),
      waiting: waiting.filter((entry) => this.leftMs(path, entry) > 0 && !this.#isGone(entry)),
    };
  }

  /** Milliseconds until an entry expires if it is not renewed. */
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
