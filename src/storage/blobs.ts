import type { BlobTexts } from "../checkpoint/state/ValueReader.ts";
import type { BlobCell, BlobCells } from "../checkpoint/values/BlobCell.ts";
import type { AgentPersistenceError } from "../errors/AgentPersistenceError.ts";
import { CorruptBlobError } from "../errors/storedDataErrors.ts";
import { forEachAtOnce } from "../internal/together.ts";
import { type BlobStore, blobsAtOnce } from "./BlobStore.ts";
import type { RecordLog } from "./RecordLog.ts";
import type { BlobUpload } from "../checkpoint/format/BlobWriter.ts";
import { concatenated } from "../internal/bytes.ts";

/** Reads the texts of blobs. A missing or damaged blob only fails the reader of its value. @throws StorageError */
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
      `claims to contain ${length} bytes, more than the library compresses`,
    );
  try {
    return decoder.decode(await gunzip(bytes, length));
  } catch (cause) {
    throw new CorruptBlobError(agentId, reference, `cannot be decompressed to the recorded ${length} bytes`, { cause });
  }
}

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

const form = /^blob:\/\/([0-9a-f]{64})-([1-9][0-9]{0,14})(\.gz)?$/;

interface BlobReference {
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

function gzip(bytes: Uint8Array): Promise<Uint8Array> {
  return collect(streamOf(bytes).pipeThrough(new CompressionStream("gzip")), Infinity);
}

/**
 * Decompresses bytes to exactly `length` bytes, so that a small file cannot exhaust memory.
 *
 * @throws RangeError, TypeError
 */
async function gunzip(bytes: Uint8Array, length: number): Promise<Uint8Array> {
  const found = await collect(streamOf(bytes).pipeThrough(new DecompressionStream("gzip")), length);
  if (found.length !== length) throw new RangeError(`${found.length} bytes, not ${length}`);
  return found;
}

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
}

async function collect(stream: ReadableStream<Uint8Array>, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of stream) {
    total += chunk.length;
    if (total > limit) throw new RangeError(`more than ${limit} bytes`);
    chunks.push(chunk);
  }
  return concatenated(chunks);
}
