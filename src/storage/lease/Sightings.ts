import { deleteOldest } from "../../internal/deleteOldest.ts";

/** Longer than every lease of an owner. */
export const longestLeaseMs = 86_400_000;

interface Sighting {
  readonly seen: string;
  readonly sinceMs: number;
}

/** Since when owners have been unchanged, by agent. Forgets agents that were not looked at for the longest lease. */
export class Sightings {
  #recent = new Map<string, Sighting>();
  #older = new Map<string, Sighting>();
  #turnedAtMs = -Infinity;

  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  /** Returns the milliseconds for which the owner has been unchanged. `undefined` if the owner has changed. */
  unchangedForMs(agentId: string, seen: string, nowMs: number): number | undefined {
    if (nowMs - this.#turnedAtMs >= longestLeaseMs) {
      [this.#older, this.#recent] = [this.#recent, new Map()];
      this.#turnedAtMs = nowMs;
    }
    const known = this.#recent.get(agentId) ?? this.#older.get(agentId);
    const isSame = known?.seen === seen;
    this.#older.delete(agentId);
    this.#recent.set(agentId, isSame ? known : { seen, sinceMs: nowMs });
    return isSame ? nowMs - known.sinceMs : undefined;
  }

  forget(agentId: string): void {
    this.#recent.delete(agentId);
    this.#older.delete(agentId);
  }
}

/** A limit that is never reached in practice: the owners that could not release their logs. */
const mostFinished = 10_000;

/**
 * Adds an owner of this process that was not released. If there are too many, forgets the oldest. Other processes can
 * replace a forgotten owner when it has been silent.
 */
export function addFinished(finished: Set<string>, owner: string): void {
  finished.add(owner);
  deleteOldest(finished, mostFinished);
}
