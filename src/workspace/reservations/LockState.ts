import type { Clock } from "../../internal/Clock.ts";
import { deleteOldest } from "../../internal/deleteOldest.ts";
import { isSurelyGone, type ProcessFacts, type ProcessIdentity } from "../../nodejs/ProcessIdentity.ts";

/** The operation of a reservation. A file has many readers or one writer. */
export type FileOperation = "read" | "write";

/** A request that holds a file or waits for it. */
export interface LockEntry {
  /** An id that is unique to one call of `acquire`. */
  readonly id: string;
  readonly owner: string;
  readonly operation: FileOperation;
  /** The time of the acquisition or the start of the wait in ISO 8601. Informational only. */
  readonly since: string;
  /** ISO 8601. Informational only. */
  readonly expiresAt: string;
  /** Milliseconds from the last renewal to the expiry. */
  readonly ttlMs: number;
  /** The expiry on the monotonic clock that all processes of one boot share. Omitted in entries of other tools. */
  readonly deadlineMs?: number;
  /** The process that wrote the entry, so that other processes can check whether it is still alive. */
  readonly process?: ProcessFacts;
}

/** The holders of a file and its waiting requests, each in order of arrival. */
export interface LockState {
  readonly path: string;
  readonly holders: readonly LockEntry[];
  readonly waiting: readonly LockEntry[];
}

/** Returns whether a request may hold the file now. No holder and no earlier request may conflict with it. */
export function mayHave({ holders, waiting }: LockState, id: string, operation: FileOperation): boolean {
  const place = waiting.findIndex((entry) => entry.id === id);
  const before = place < 0 ? waiting : waiting.slice(0, place);
  return [...holders, ...before].every((other) => other.operation === "read" && operation === "read");
}

export function granted(state: LockState, entry: LockEntry): LockState {
  const { path, holders, waiting } = without(state, entry.id);
  return { path, holders: [...holders, entry], waiting };
}

/** Updates a request in the queue, or appends it. */
export function queued(state: LockState, entry: LockEntry): LockState {
  const isKnown = state.waiting.some(({ id }) => id === entry.id);
  const waiting = isKnown
    ? state.waiting.map((other) => (other.id === entry.id ? entry : other))
    : [...state.waiting, entry];
  return { ...state, waiting };
}

export function renewed(state: LockState, entry: LockEntry): LockState {
  return { ...state, holders: state.holders.map((other) => (other.id === entry.id ? entry : other)) };
}

export function without({ path, holders, waiting }: LockState, id: string): LockState {
  const isOther = (entry: LockEntry): boolean => entry.id !== id;
  return { path, holders: holders.filter(isOther), waiting: waiting.filter(isOther) };
}

/** The number of paths whose foreign entries are remembered. */
const mostPaths = 10_000;

/**
 * Decides which entries have expired, without the wall clock, which can jump. Processes of one boot and time namespace
 * share a monotonic clock, so their entries expire by this clock. An entry of any other process is foreign. It has
 * expired when this process has seen the entry unchanged for the whole `ttlMs` of the entry.
 */
export class LockExpiry {
  /** When this process first saw each foreign entry of a path. */
  readonly #sightings = new Map<string, ReadonlyMap<string, number>>();

  constructor(
    readonly clock: Clock,
    readonly identity: ProcessIdentity,
  ) {}

  /** Removes expired entries. A waiting entry ends with its process, a holder only at its expiry. */
  current(state: LockState): LockState {
    const { path, holders, waiting } = state;
    const sightings = this.#look(state);
    const isLeft = (entry: LockEntry) => this.leftMs(entry, sightings.get(keyOf(entry))) > 0;
    return { path, holders: holders.filter(isLeft), waiting: waiting.filter((e) => isLeft(e) && !this.#isGone(e)) };
  }

  /** @param sinceMs when this process first saw the entry. Defaults to now. */
  leftMs(entry: LockEntry, sinceMs?: number): number {
    const now = this.clock.monotonic();
    const { deadlineMs, ttlMs } = entry;
    if (deadlineMs !== undefined && !this.#isForeign(entry)) return Math.min(deadlineMs - now, ttlMs);
    return ttlMs - (now - (sinceMs ?? now));
  }

  /** Notes the foreign entries of a path, and forgets the entries that the path lost. */
  #look({ path, holders, waiting }: LockState): ReadonlyMap<string, number> {
    const known = this.#sightings.get(path);
    const foreign = [...holders, ...waiting].filter((entry) => this.#isForeign(entry)).map(keyOf);
    const seen = new Map(foreign.map((key) => [key, known?.get(key) ?? this.clock.monotonic()]));
    this.#sightings.delete(path);
    if (seen.size > 0) this.#sightings.set(path, seen);
    deleteOldest(this.#sightings, mostPaths);
    return seen;
  }

  /** Returns whether the entry has no deadline on the monotonic clock of this process. */
  #isForeign({ process, deadlineMs }: LockEntry): boolean {
    const { bootId, timeNamespace } = this.identity;
    return deadlineMs === undefined || process?.bootId !== bootId || process.timeNamespace !== timeNamespace;
  }

  #isGone({ process }: LockEntry): boolean {
    return process !== undefined && isSurelyGone(process, this.identity);
  }
}

/** Identifies an entry between two renewals. Entries of other tools have no id. */
function keyOf({ id, owner, operation, since, expiresAt }: LockEntry): string {
  return JSON.stringify([id, owner, operation, since, expiresAt]);
}

/** A file and the operation that it is reserved for. */
export interface ReservedFile {
  /** Relative to the root of the workspace, with "/". */
  readonly path: string;
  readonly operation: FileOperation;
}

/**
 * Files that are held until they are released or until the reservation expires. `await using` releases them at the end
 * of a block.
 */
export interface Reservation extends AsyncDisposable {
  readonly owner: string;
  /** Each path once, in the order of acquisition. */
  readonly files: readonly ReservedFile[];
  /** `false` after the reservation was released, has expired by the clock of this process, or is known to be lost. */
  readonly held: boolean;
  /** Extends the expiry to `ttlMs` from now. @throws ReservationLostError if a file was lost */
  renew(): Promise<void>;
  /** Releases the files. A lost file stays with its new holder. Releasing twice has no effect. */
  release(): Promise<void>;
}
