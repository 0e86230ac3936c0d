/** The unit in which a device writes. */
export const sectorSize = 512;

/**
 * What the sectors of a write hold that did not reach the device: zeros, whatever was on the device there before, or
 * nothing, where the file ends with the last one that did.
 */
export type Fill = "zeros" | "stale" | "nothing";

/** Of a write, the sectors that reached the device. */
export interface Tear {
  readonly kept: readonly boolean[];
  readonly fill: Fill;
}

/** What a crash does to a mutation that was not durable. */
export type WriteOutcome = "kept" | "lost" | Tear;

/** How many sectors of a device a write touches. */
export function sectorsOf(offset: number, length: number): number {
  return length === 0 ? 0 : Math.floor((offset + length - 1) / sectorSize) - Math.floor(offset / sectorSize) + 1;
}
