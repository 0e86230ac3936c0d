/** Where a snapshot may stand: where a lane begins, or between two steps of it. */
export type SnapshotPlace = "lane" | "step";

/**
 * A snapshot is worth storing when an open has to read this many bytes, and this many times what the snapshot holds. Where a
 * lane begins, that bounds what an open costs. Between two steps it bounds what snapshots add to a long run.
 */
const worth: Readonly<Record<SnapshotPlace, { readonly leastBytes: number; readonly proportion: number }>> = {
  lane: { leastBytes: 64 * 1024, proportion: 2 },
  step: { leastBytes: 1024 * 1024, proportion: 16 },
};
/** After live state was removed, a snapshot is tried again when this many times as much has to be read as at the last try. */
const retryProportion = 1.5;

/**
 * When the next snapshot of an agent is due. How many bytes it holds is known once it is made; one that is too large
 * postpones the next try in proportion, so that the tries cost a constant for each byte appended.
 */
export class SnapshotDue {
  #snapshotBytes = 0;
  #retryBytes = Infinity;
  #isShorter = false;

  /** Whether to try, given how many bytes an open has to read. */
  isDue(place: SnapshotPlace, unreadBytes: number): boolean {
    const { leastBytes } = worth[place];
    if (unreadBytes < leastBytes) return false;
    return this.#isWorth(place, unreadBytes) || (this.#isShorter && unreadBytes >= this.#retryBytes);
  }

  /** A snapshot was made. @returns whether it is worth storing. */
  tried(place: SnapshotPlace, unreadBytes: number, snapshotBytes: number): boolean {
    this.#snapshotBytes = snapshotBytes;
    this.#retryBytes = retryProportion * unreadBytes;
    this.#isShorter = false;
    return this.#isWorth(place, unreadBytes);
  }

  /** Something was removed from the live state. */
  shortened(): void {
    this.#isShorter = true;
  }

  #isWorth(place: SnapshotPlace, unreadBytes: number): boolean {
    const { leastBytes, proportion } = worth[place];
    return unreadBytes >= Math.max(leastBytes, proportion * this.#snapshotBytes);
  }
}
