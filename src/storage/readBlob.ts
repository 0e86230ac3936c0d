import type { BlobCell } from "../checkpoint/values/BlobCell.ts";
import { CorruptBlobError } from "../errors/storage/CorruptBlobError.ts";
import { gunzip } from "../internal/gzip.ts";
import type { BlobStore } from "./BlobStore.ts";
import { maximumCompressedTextBytes } from "./putBlobs.ts";

const decoder = new TextDecoder();

/** The text of a blob; `undefined` when it is missing. @throws CorruptBlobError */
export async function readBlob(blobs: BlobStore, agentId: string, cell: BlobCell): Promise<string | undefined> {
  const [reference, length, hash] = cell;
  const bytes = await blobs.get(agentId, reference);
  if (bytes === undefined || hash === undefined) return bytes && decoder.decode(bytes);
  // A length that nothing was ever stored with: whoever changed it wants the memory filled.
  if (length > maximumCompressedTextBytes)
    throw new CorruptBlobError(agentId, reference, `is said to hold ${length} bytes, more than is ever compressed`);
  try {
    return decoder.decode(await gunzip(bytes, length));
  } catch (cause) {
    throw new CorruptBlobError(agentId, reference, `cannot be decompressed to the ${length} bytes stated`, { cause });
  }
}
