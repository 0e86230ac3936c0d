const form = /^blob:\/\/([0-9a-f]{64})-([1-9][0-9]{0,14})(\.gz)?$/;

/** What a reference to a blob says. */
export interface BlobReference {
  /** SHA-256 of the content, 64 lower-case hex characters. */
  readonly hash: string;
  /** The generation of the owner that put it. */
  readonly generation: number;
  /** What the bytes are; absent: text. */
  readonly encoding?: "gzip" | undefined;
}

/** `blob://<hash>-<generation>`, and `.gz` where the bytes are compressed. */
export function formatBlobReference({ hash, generation, encoding }: BlobReference): string {
  return `blob://${hash}-${generation}${encoding === "gzip" ? ".gz" : ""}`;
}

/** `undefined` for whatever is not a reference: references come from stored data and are not to be trusted. */
export function parseBlobReference(reference: string): BlobReference | undefined {
  const [, hash, generation, gz] = form.exec(reference) ?? [];
  return hash === undefined ? undefined : { hash, generation: Number(generation), ...(gz && { encoding: "gzip" }) };
}
