/**
 * Owners in this process that ended without a `closed` line, because the storage failed under them. Their process still
 * runs, so other processes notice only their silence. The set holds ended owners and not live ones, since another thread
 * or another copy of this library in the process has owners of its own.
 */
const finished = new Set<string>();

/** @param segment the path of the segment that the owner wrote, or may have made before it failed. */
export function releaseGeneration(segment: string, nonce: string): void {
  finished.add(`${nonce} ${segment}`);
}

export function isReleasedGeneration(segment: string, nonce: string): boolean {
  return finished.has(`${nonce} ${segment}`);
}
