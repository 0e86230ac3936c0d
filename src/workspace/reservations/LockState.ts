import type { ProcessClaim } from "./ProcessClaim.ts";

/** What a file is reserved for: many may read it at once, or one may write it. */
export type FileOperation = "read" | "write";

/** One who holds a file, or waits for it. */
export interface LockEntry {
  /** Unique to one call of `acquire`. */
  readonly id: string;
  readonly owner: string;
  readonly operation: FileOperation;
  /** When it was acquired, or since when it waits: ISO 8601. For people; never used to decide. */
  readonly since: string;
  /** ISO 8601; for people. */
  readonly expiresAt: string;
  /** Milliseconds between the last renewal and the expiry. */
  readonly ttlMs: number;
  /** The expiry by the monotonic clock that all processes of a started machine share. Absent: written by another tool. */
  readonly deadlineMs?: number;
  readonly process?: ProcessClaim;
}

/** Who has a file and who waits for it, first come first. */
export interface LockState {
  readonly path: string;
  readonly holders: readonly LockEntry[];
  readonly waiting: readonly LockEntry[];
}

/** Whether a request may have the file now: nobody who holds it or came before stands in its way. */
export function mayHave({ holders, waiting }: LockState, id: string, operation: FileOperation): boolean {
  const place = waiting.findIndex((entry) => entry.id === id);
  const before = place < 0 ? waiting : waiting.slice(0, place);
  return [...holders, ...before].every((other) => other.operation === "read" && operation === "read");
}

/** The state with the request as a holder, its place in the queue given up. */
export function granted(state: LockState, entry: LockEntry): LockState {
  const { path, holders, waiting } = without(state, entry.id);
  return { path, holders: [...holders, entry], waiting };
}

/** The state with the request in the queue: at the place it has, else at the end. */
export function queued(state: LockState, entry: LockEntry): LockState {
  const isKnown = state.waiting.some(({ id }) => id === entry.id);
  const waiting = isKnown
    ? state.waiting.map((other) => (other.id === entry.id ? entry : other))
    : [...state.waiting, entry];
  return { ...state, waiting };
}

/** The state with a holder's new times, in its place. */
export function renewed(state: LockState, entry: LockEntry): LockState {
  return { ...state, holders: state.holders.map((other) => (other.id === entry.id ? entry : other)) };
}

/** The state without what one request has or waits for. */
export function without({ path, holders, waiting }: LockState, id: string): LockState {
  const isOther = (entry: LockEntry): boolean => entry.id !== id;
  return { path, holders: holders.filter(isOther), waiting: waiting.filter(isOther) };
}
