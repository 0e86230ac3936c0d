import type { Clock } from "../../internal/Clock.ts";
import { isSurelyGone, type ProcessFacts, type ProcessIdentity } from "../../node/ProcessIdentity.ts";

/** What a file is reserved for: many owners may read it at once, or one may write it. */
export type FileOperation = "read" | "write";

/** One request that holds a file or waits for it. */
export interface LockEntry {
  /** Unique to one call of `acquire`. */
  readonly id: string;
  readonly owner: string;
  readonly operation: FileOperation;
  /** When it was acquired, or when the wait began: ISO 8601. For people; never used to decide. */
  readonly since: string;
  /** ISO 8601; for people. */
  readonly expiresAt: string;
  /** Milliseconds from the last renewal to the expiry. */
  readonly ttlMs: number;
  /** The expiry by the monotonic clock that all processes of one boot share. Absent: another tool wrote the entry. */
  readonly deadlineMs?: number;
  /** The process that wrote the entry, so that other processes can find out whether it still runs. */
  readonly process?: ProcessFacts;
}

/** The requests that hold a file and those that wait for it, each in order of arrival. */
export interface LockState {
  readonly path: string;
  readonly holders: readonly LockEntry[];
  readonly waiting: readonly LockEntry[];
}

/** Whether a request may have the file now: no holder and no earlier request conflicts with it. */
export function mayHave({ holders, waiting }: LockState, id: string, operation: FileOperation): boolean {
  const place = waiting.findIndex((entry) => entry.id === id);
  const before = place < 0 ? waiting : waiting.slice(0, place);
  return [...holders, ...before].every((other) => other.operation === "read" && operation === "read");
}

/** The state with the request moved from the queue to the holders. */
export function granted(state: LockState, entry: LockEntry): LockState {
  const { path, holders, waiting } = without(state, entry.id);
  return { path, holders: [...holders, entry], waiting };
}

/** The state with the request in the queue: in its current place, else at the end. */
export function queued(state: LockState, entry: LockEntry): LockState {
  const isKnown = state.waiting.some(({ id }) => id === entry.id);
  const waiting = isKnown
    ? state.waiting.map((other) => (other.id === entry.id ? entry : other))
    : [...state.waiting, entry];
  return { ...state, waiting };
}

/** The state with new times for a holder, in the same place. */
export function renewed(state: LockState, entry: LockEntry): LockState {
  return { ...state, holders: state.holders.map((other) => (other.id === entry.id ? entry : other)) };
}

/** The state without the entries of one request. */
export function without({ path, holders, waiting }: LockState, id: string): LockState {
  const isOther = (entry: LockEntry): boolean => entry.id !== id;
  return { path, holders: holders.filter(isOther), waiting: waiting.filter(isOther) };
}

/**
 * Decides which entries have expired. It never uses the wall clock, which can jump. An entry of this boot has its deadline
 * on a monotonic clock that all processes share. Any other entry is only known to change with each renewal: it has expired
 * when this process saw it unchanged for its whole `ttlMs`.
 */
export class LockExpiry {
  readonly #sightings = new Map<string, { readonly expiresAt: string; readonly sinceMs: number }>();

  constructor(
    readonly clock: Clock,
    readonly identity: ProcessIdentity,
  ) {}

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
    const now = this.clock.monotonic();
    if (entry.deadlineMs !== undefined && entry.process?.bootId === this.identity.bootId)
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
    return process !== undefined && isSurelyGone(process, this.identity);
  }
}

/** A file and the operation that it is reserved for. */
export interface ReservedFile {
  /** Relative to the root of the workspace, with "/". */
  readonly path: string;
  readonly operation: FileOperation;
}

/** Files that are held until they are released or expire. `await using` releases them at the end of a block. */
export interface Reservation extends AsyncDisposable {
  readonly owner: string;
  /** Each path once, in the order of acquisition. */
  readonly files: readonly ReservedFile[];
  /** False once the reservation was released, expired by the clock of this process, or turned out to be lost. */
  readonly held: boolean;
  /** Moves the expiry to `ttlMs` from now. @throws ReservationLostError when a file was lost. */
  renew(): Promise<void>;
  /** Frees the files. A file that was lost stays with its new holder. Releasing twice does nothing. */
  release(): Promise<void>;
}
