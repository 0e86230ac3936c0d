import type { BlobUpload } from "../checkpoint/format/BlobWriter.ts";
import { forEachAtOnce } from "../internal/forEachAtOnce.ts";
import { gzip } from "../internal/gzip.ts";
import { type BlobStore, blobsAtOnce } from "./BlobStore.ts";

export const defaultCompressThresholdBytes = 100 * 1024;

/** Texts with more bytes than this are not compressed, which limits the size of decompressed data. */
export const maximumCompressedTextBytes = 64 * 1024 * 1024;

const encoder = new TextEncoder();

/** Stores large values as blobs and adds the references to the records before they are appended. */
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

async function smaller(bytes: Uint8Array): Promise<Uint8Array | undefined> {
  if (bytes.length > maximumCompressedTextBytes) return undefined;
  const compressed = await gzip(bytes);
  return compressed.length < bytes.length ? compressed : undefined;
}
