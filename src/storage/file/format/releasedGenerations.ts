/**
 * Owners in this process that ended without saying so, because the storage failed under them. Their process lives on, so
 * nobody else can know it but by their silence. What is known for certain is kept, not who is alive: another thread, or
 * another copy of this library in the process, has owners of its own.
 */
const finished = new Set<string>();

/** @param segment the path of the segment that the owner wrote, or may have made before it failed. */
export function releaseGeneration(segment: string, nonce: string): void {
  finished.add(`${nonce} ${segment}`);
}

export function isReleasedGeneration(segment: string, nonce: string): boolean {
  return finished.has(`${nonce} ${segment}`);
}
