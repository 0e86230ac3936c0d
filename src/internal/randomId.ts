/** A random id: 128 bits, as a UUID. */
export function randomId(): string {
  return globalThis.crypto.randomUUID();
}
