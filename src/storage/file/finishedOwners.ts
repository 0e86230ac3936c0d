/**
 * The segments whose owners in this process ended without saying so, because the storage failed under them. Their
 * process lives on, so nobody else can know it but by their silence. What is known for certain is kept, not who is
 * alive: another thread, or another copy of this library in the process, has owners of its own.
 */
export const finishedOwners = new Set<string>();
