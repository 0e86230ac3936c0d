import { forEachAtOnce } from "../../internal/together.ts";
import { type BlobStore, blobsAtOnce } from "../../storage/BlobStore.ts";
import { blobsNamedIn } from "../../transfer/transferredBlobs.ts";

export interface BlobCopy {
  readonly blobs: BlobStore;
  readonly from: string;
  readonly to: string;
}

/**
 * Yields the lines of a log after copying every blob in them to the other agent. Skips missing blobs: either no
 * relevant record needs them, or the reader reports them. Text that only looks like a reference is skipped as well.
 *
 * @param onMissing called before the end with one of the skipped blobs. An error from it ends the lines.
 */
export async function* withBlobs(
  lines: AsyncIterable<Uint8Array>,
  copy: BlobCopy,
  onMissing: (reference: string) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const known = new Set<string>();
  const waiting: string[] = [];
  let missing: string | undefined;
  for await (const line of lines) {
    for (const reference of blobsNamedIn(line)) if (!known.has(reference)) waiting.push(reference);
    for (const reference of waiting) known.add(reference);
    if (waiting.length >= blobsAtOnce) missing = (await copyBlobs(waiting.splice(0), copy)) ?? missing;
    yield line;
  }
  missing = (await copyBlobs(waiting, copy)) ?? missing;
  if (missing !== undefined) await onMissing(missing);
}

async function copyBlobs(found: readonly string[], { blobs, from, to }: BlobCopy): Promise<string | undefined> {
  let missing: string | undefined;
  await forEachAtOnce([...new Set(found)], blobsAtOnce, async (reference) => {
    const isCopied = blobs.copy ? await blobs.copy(from, reference, to) : await putCopy(reference, { blobs, from, to });
    if (!isCopied) missing = reference;
  });
  return missing;
}

/**
 * The reference contains the generation. The same bytes get the same reference only if the same generation puts them.
 */
async function putCopy(reference: string, { blobs, from, to }: BlobCopy): Promise<boolean> {
  const bytes = await blobs.get(from, reference);
  if (!bytes) return false;
  const generation = Number(/-([0-9]+)(?:\.gz)?$/.exec(reference)?.[1]);
  await blobs.put(to, generation, bytes, reference.endsWith(".gz") ? "gzip" : undefined);
  return true;
}
