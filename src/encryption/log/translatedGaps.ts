import type { Entry } from "../../checkpoint/records/Entry.ts";
import type { PrunedGap } from "../../checkpoint/records/prunedGaps.ts";

/**
 * Returns gaps of plain appends with the checksums of the stored appends.
 *
 * @param stored - all stored appends, oldest first.
 */
export async function translatedGaps(
  gaps: readonly PrunedGap[],
  stored: AsyncIterable<Pick<Entry, "position" | "checksum" | "prev">>,
): Promise<readonly PrunedGap[]> {
  const checksums = new Map<number, string>();
  const needed = new Set(gaps.flatMap(({ first, last }) => [first - 1, last]));
  for await (const { position, checksum, prev } of stored) {
    if (needed.has(position - 1)) checksums.set(position - 1, prev);
    if (needed.has(position)) checksums.set(position, checksum);
  }
  return gaps.map(({ first, last }) => ({
    first,
    last,
    before: checksums.get(first - 1) ?? "",
    after: checksums.get(last) ?? "",
  }));
}
