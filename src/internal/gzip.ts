import { concatenated } from "./bytes.ts";

/** Compresses bytes with `CompressionStream`. */
export function gzip(bytes: Uint8Array): Promise<Uint8Array> {
  return collect(streamOf(bytes).pipeThrough(new CompressionStream("gzip")), Number.POSITIVE_INFINITY);
}

/**
 * The inverse of {@link gzip}. Stops once the output exceeds `length`, so that a small file cannot fill the memory.
 *
 * @param length the expected length of the output, in bytes.
 * @throws RangeError when there are more or fewer; TypeError when the bytes are damaged.
 */
export async function gunzip(bytes: Uint8Array, length: number): Promise<Uint8Array> {
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
