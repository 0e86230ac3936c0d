/** A reference to a blob (empty until it is stored), its length in bytes, and the SHA-256 of its text if compressed. */
export type BlobCell = [reference: string, bytes: number, hash?: string];

export type BlobCells = ReadonlyMap<string, BlobCell>;

/** Returns the SHA-256 of the text in a blob, in hex. Values with equal hashes are stored once. */
export function textHashOf([reference, , hash]: BlobCell): string {
  return hash ?? reference.slice("blob://".length).split("-")[0] ?? "";
}

/** Checks the types, because stored data is untrusted. */
export function isBlobCell(value: unknown): value is BlobCell {
  if (!Array.isArray(value)) return false;
  const [reference, bytes, hash] = value as readonly unknown[];
  const hashed = hash === undefined || typeof hash === "string";
  return typeof reference === "string" && Number.isSafeInteger(bytes) && (bytes as number) >= 0 && hashed;
}

/** A blob that contains several contents one after another, each with its SHA-256 in hex and its length in bytes. */
export interface Pack {
  readonly blob: string;
  readonly contents: readonly (readonly [hash: string, bytes: number])[];
}
