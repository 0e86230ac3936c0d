import type { BlobUpload } from "../checkpoint/format/BlobWriter.ts";
import { forEachAtOnce } from "../internal/forEachAtOnce.ts";
import { gzip } from "../internal/gzip.ts";
import { type BlobStore, blobsAtOnce } from "./BlobStore.ts";

/** Values of more bytes than this, as UTF-8 JSON, are compressed. */
export const defaultCompressThresholdBytes = 100 * 1024;

/** Texts of more bytes than this are kept as they are: so much is never made of a compressed one. */
export const maximumCompressedTextBytes = 64 * 1024 * 1024;

const encoder = new TextEncoder();

/** Puts large values where they belong and completes the records that refer to them, before those are appended. */
export async function putBlobs(
  blobs: BlobStore,
  agentId: string,
  generation: number,
  uploads: readonly BlobUpload[],
  compressThresholdBytes: number = defaultCompressThresholdBytes,
): Promise<void> {
  await forEachAtOnce(uploads, blobsAtOnce, async ({ content, place }) => {
    const bytes = typeof content === "string" ? encoder.encode(content) : content;
    const isLargeText = typeof content === "string" && bytes.length > compressThresholdBytes;
    const compressed = isLargeText ? await smaller(bytes) : undefined;
    if (compressed) place(await blobs.put(agentId, generation, compressed, "gzip"), true);
    else place(await blobs.put(agentId, generation, bytes), false);
  });
}

/** The bytes compressed; `undefined` where that gains nothing. */
async function smaller(bytes: Uint8Array): Promise<Uint8Array | undefined> {
  if (bytes.length > maximumCompressedTextBytes) return undefined;
  const compressed = await gzip(bytes);
  return compressed.length < bytes.length ? compressed : undefined;
}
