const form = /^blob:\/\/([0-9a-f]{64})-([1-9][0-9]{0,14})(\.gz)?$/;

export interface BlobReference {
  /** The SHA-256 of the content as 64 lowercase hex characters. */
  readonly hash: string;
  readonly generation: number;
  /** The encoding of the bytes. `undefined` for text. */
  readonly encoding?: "gzip" | undefined;
}

/** Returns `blob://<hash>-<generation>`, followed by `.gz` for compressed bytes. */
export function formatBlobReference({ hash, generation, encoding }: BlobReference): string {
  return `blob://${hash}-${generation}${encoding === "gzip" ? ".gz" : ""}`;
}

/** Parses a blob reference. Returns `undefined` for any other text, because stored references are not trusted. */
export function parseBlobReference(reference: string): BlobReference | undefined {
  const [, hash, generation, gz] = form.exec(reference) ?? [];
  return hash === undefined ? undefined : { hash, generation: Number(generation), ...(gz && { encoding: "gzip" }) };
}
