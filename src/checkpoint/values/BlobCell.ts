/** A value in a blob: its reference (empty until stored), its bytes of UTF-8, and its SHA-256 if compressed. */
export type BlobCell = [reference: string, bytes: number, hash?: string];

export type BlobCells = ReadonlyMap<string, BlobCell>;

/** Returns the SHA-256 of the text in a blob, in hex. Values with equal hashes are stored once. */
export function textHashOf([reference, , hash]: BlobCell): string {
  return hash ?? reference.slice("blob://".length).split("-")[0] ?? "";
}

/** Stored data is untrusted. */
export function isBlobCell(value: unknown): value is BlobCell {
  if (!Array.isArray(value)) return false;
  const [reference, bytes, hash] = value as readonly unknown[];
  const hashed = hash === undefined || typeof hash === "string";
  return typeof reference === "string" && Number.isSafeInteger(bytes) && (bytes as number) >= 0 && hashed;
}

/** A blob with several contents in a row. For each content: the SHA-256 in hex and the length in bytes. */
export interface Pack {
  readonly blob: string;
  readonly contents: readonly (readonly [hash: string, bytes: number])[];
}
