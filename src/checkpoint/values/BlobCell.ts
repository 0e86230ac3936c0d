/**
 * A value that is stored as a blob: the reference, empty until the blob is stored, and the length of its text in bytes of
 * UTF-8. A compressed blob has a third item: the SHA-256 of the text, in hex.
 */
export type BlobCell = [reference: string, bytes: number, hash?: string];

/** The blobs that something refers to, by their reference. */
export type BlobCells = ReadonlyMap<string, BlobCell>;

/** The SHA-256 of the text in a blob, in hex: of two values with the same one only one is stored. */
export function textHashOf([reference, , hash]: BlobCell): string {
  return hash ?? reference.slice("blob://".length).split("-")[0] ?? "";
}

/** Stored data is not to be trusted. */
export function isBlobCell(value: unknown): value is BlobCell {
  if (!Array.isArray(value)) return false;
  const [reference, bytes, hash] = value as readonly unknown[];
  const hashed = hash === undefined || typeof hash === "string";
  return typeof reference === "string" && Number.isSafeInteger(bytes) && (bytes as number) >= 0 && hashed;
}

/** A blob that holds contents end to end: the SHA-256 of each, in hex, and its length in bytes. */
export interface Pack {
  readonly blob: string;
  readonly contents: readonly (readonly [hash: string, bytes: number])[];
}
