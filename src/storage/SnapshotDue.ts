export type SnapshotPlace = "lane" | "step";

/**
 * A snapshot is due when the next opening of the log must read at least `leastBytes`, and at least `proportion` times
 * the size of the last snapshot. The limits for the start of a lane keep opening an agent cheap. The limits between
 * steps keep snapshots a small part of a long log.
 */
const worth: Readonly<Record<SnapshotPlace, { readonly leastBytes: number; readonly proportion: number }>> = {
  lane: { leastBytes: 64 * 1024, proportion: 2 },
  step: { leastBytes: 1024 * 1024, proportion: 16 },
};
/** After live state was removed, the unread bytes must grow by this factor before the next attempt. */
const retryProportion = 1.5;

/**
 * Decides when the next snapshot of an agent is due. The size of a snapshot is known only after it is created. The next
 * attempt waits in proportion to that size, so attempts cost a constant amount per appended byte.
 */
export class SnapshotDue {
  #snapshotBytes = 0;
  #retryBytes = Infinity;
  #isShorter = false;

  /** Whether to create a snapshot. `unreadBytes`: the bytes that the next opening of the log must read. */
  isDue(place: SnapshotPlace, unreadBytes: number): boolean {
    const { leastBytes } = worth[place];
    if (unreadBytes < leastBytes) return false;
    return this.#isWorth(place, unreadBytes) || (this.#isShorter && unreadBytes >= this.#retryBytes);
  }

  tried(place: SnapshotPlace, unreadBytes: number, snapshotBytes: number): boolean {
    this.#snapshotBytes = snapshotBytes;
    this.#retryBytes = retryProportion * unreadBytes;
    this.#isShorter = false;
    return this.#isWorth(place, unreadBytes);
  }

  shortened(): void {
    this.#isShorter = true;
  }

  #isWorth(place: SnapshotPlace, unreadBytes: number): boolean {
    const { leastBytes, proportion } = worth[place];
    return unreadBytes >= Math.max(leastBytes, proportion * this.#snapshotBytes);
  }
}
