import { forEachAtOnce } from "../../internal/forEachAtOnce.ts";
import { type BlobStore, blobsAtOnce } from "../../storage/BlobStore.ts";

/** References are ASCII: no text has to be put together for them. */
const decoder = new TextDecoder("latin1");
const references = /blob:\/\/[0-9a-f]{64}-[1-9][0-9]{0,14}(?:\.gz)?/g;

/** Whose blobs are copied, and to whom. */
export interface BlobCopy {
  readonly blobs: BlobStore;
  readonly from: string;
  readonly to: string;
}

/**
 * Passes on the lines of a log once every blob that they refer to is the other agent's, too. A blob that is not there any more
 * is passed over: then nothing that counts refers to it, or its reader is told.
 */
export async function* withBlobs(lines: AsyncIterable<Uint8Array>, copy: BlobCopy): AsyncGenerator<Uint8Array> {
  const known = new Set<string>();
  const waiting: string[] = [];
  for await (const line of lines) {
    for (const reference of referencesIn(line)) if (!known.has(reference)) waiting.push(reference);
    for (const reference of waiting) known.add(reference);
    if (waiting.length >= blobsAtOnce) await copyBlobs(waiting.splice(0), copy);
    yield line;
  }
  await copyBlobs(waiting, copy);
}

/** Text that only looks like a reference is found, too: no blob is there for it. */
function referencesIn(line: Uint8Array): readonly string[] {
  const text = decoder.decode(line);
  return text.includes("blob://") ? (text.match(references) ?? []) : [];
}

async function copyBlobs(found: readonly string[], { blobs, from, to }: BlobCopy): Promise<void> {
  await forEachAtOnce([...new Set(found)], blobsAtOnce, async (reference) => {
    if (blobs.copy) await blobs.copy(from, reference, to);
    else await putCopy(reference, { blobs, from, to });
  });
}

/** The generation is a part of the reference: put by the same one, the same bytes have the same reference. */
async function putCopy(reference: string, { blobs, from, to }: BlobCopy): Promise<void> {
  const bytes = await blobs.get(from, reference);
  if (!bytes) return;
  const generation = Number(/-([0-9]+)(?:\.gz)?$/.exec(reference)?.[1]);
  await blobs.put(to, generation, bytes, reference.endsWith(".gz") ? "gzip" : undefined);
}
