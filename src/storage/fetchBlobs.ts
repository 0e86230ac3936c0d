import type { BlobTexts } from "../checkpoint/state/ValueReader.ts";
import type { BlobCell, BlobCells } from "../checkpoint/values/BlobCell.ts";
import type { AgentPersistenceError } from "../errors/AgentPersistenceError.ts";
import { CorruptBlobError } from "../errors/storedDataErrors.ts";
import { forEachAtOnce } from "../internal/forEachAtOnce.ts";
import { gunzip } from "../internal/gzip.ts";
import { type BlobStore, blobsAtOnce } from "./BlobStore.ts";
import type { RecordLog } from "./RecordLog.ts";
import { maximumCompressedTextBytes } from "./putBlobs.ts";

/**
 * Reads the texts of blobs. A missing or damaged blob only fails the reader of its value.
 *
 * @throws StorageError if the storage fails.
 */
export async function fetchBlobs(log: RecordLog, agentId: string, references: BlobCells): Promise<BlobTexts> {
  const texts = new Map<string, string | AgentPersistenceError>();
  await forEachAtOnce([...references], blobsAtOnce, async ([reference, cell]) => {
    try {
      const text = await readBlob(log.blobs, agentId, cell);
      if (text !== undefined) texts.set(reference, text);
    } catch (error) {
      if (!(error instanceof CorruptBlobError)) throw error;
      texts.set(reference, error);
    }
  });
  return texts;
}

const decoder = new TextDecoder();

/** Returns the text of a blob. `undefined` if the blob is missing. @throws CorruptBlobError if the blob is damaged. */
export async function readBlob(blobs: BlobStore, agentId: string, cell: BlobCell): Promise<string | undefined> {
  const [reference, length, hash] = cell;
  const bytes = await blobs.get(agentId, reference);
  if (bytes === undefined || hash === undefined) return bytes && decoder.decode(bytes);
  // The library never stores such a length. A forged length could exhaust the memory.
  if (length > maximumCompressedTextBytes)
    throw new CorruptBlobError(
      agentId,
      reference,
      `claims to contain ${length} bytes, which is more than the library compresses`,
    );
  try {
    return decoder.decode(await gunzip(bytes, length));
  } catch (cause) {
    throw new CorruptBlobError(agentId, reference, `cannot be decompressed to the recorded ${length} bytes`, { cause });
  }
}
