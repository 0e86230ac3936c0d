import { concatenated } from "./bytes.ts";

export function gzip(bytes: Uint8Array): Promise<Uint8Array> {
  return collect(streamOf(bytes).pipeThrough(new CompressionStream("gzip")), Number.POSITIVE_INFINITY);
}

/**
 * Decompresses bytes. Stops when the output exceeds `length`, so that a small file cannot exhaust memory.
 *
 * @param length The expected length of the output in bytes.
 * @throws RangeError if the length differs.
 * @throws TypeError if the bytes are damaged.
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
