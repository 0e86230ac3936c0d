import { InvalidArchiveError } from "../errors/storedDataErrors.ts";
import { nextTurn } from "../internal/nextTurn.ts";

/**
 * The maximum input of a stream at a time. It is limited because platform streams buffer their output, which can be
 * 1,000 times larger.
 */
const pieceBytes = 64 * 1024;

/** Compresses bytes on demand, with little buffering. */
export function gzipped(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  return through(bytes, new CompressionStream("gzip"));
}

/** The maximum growth of compressed data. Texts grow up to 20 times, and forged data up to 1,000 times. */
const mostGrowth = 100;

/**
 * Decompresses the output of {@link gzipped}.
 *
 * @param freeBytes The number of bytes after which the limit for the growth applies.
 * @throws InvalidArchiveError for invalid data, or errors of the source
 */
export async function* gunzipped(
  bytes: AsyncIterable<Uint8Array>,
  freeBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let failure: { readonly error: unknown } | undefined;
  let left = freeBytes;
  async function* noted(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const chunk of bytes) {
        left += mostGrowth * chunk.length;
        yield chunk;
      }
    } catch (error) {
      failure = { error };
      throw error;
    }
  }
  try {
    for await (const chunk of through(noted(), new DecompressionStream("gzip"))) {
      left -= chunk.length;
      if (left < 0) break;
      yield chunk;
    }
  } catch (cause) {
    if (failure) throw failure.error;
    throw new InvalidArchiveError("it cannot be decompressed", { cause });
  }
  if (left < 0)
    throw new InvalidArchiveError(
      `it grows more than ${mostGrowth} times when it is decompressed; if you trust it, raise maxPartBytes`,
    );
}

/** Platform streams accept any amount of input, so the next chunk is written only when no output is available. */
async function* through(
  bytes: AsyncIterable<Uint8Array>,
  { readable, writable }: CompressionStream | DecompressionStream,
): AsyncGenerator<Uint8Array, void, undefined> {
  const input = inPieces(bytes);
  const writer = writable.getWriter() as WritableStreamDefaultWriter<Uint8Array>;
  const reader = readable.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  try {
    for (;;) {
      const reading = reader.read();
      await feed(reading, input, writer);
      const { value, done } = await reading;
      if (done) return;
      yield value;
    }
  } finally {
    await input.return();
    await Promise.allSettled([writer.abort(), reader.cancel()]);
  }
}

async function feed(
  reading: Promise<unknown>,
  input: AsyncGenerator<Uint8Array, void, undefined>,
  writer: WritableStreamDefaultWriter<Uint8Array>,
): Promise<void> {
  let isSettled = false;
  const settle = (): void => void (isSettled = true);
  const settled = reading.then(settle, settle);
  await Promise.race([settled, nextTurn()]);
  while (!isSettled) {
    const { value, done } = await input.next();
    const given = done ? writer.close() : writer.write(value);
    // A failed write also fails the pending read, which reports the failure.
    await Promise.race([settled, given.catch(() => settled)]);
    await Promise.race([settled, done ? settled : nextTurn()]);
  }
}

async function* inPieces(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of bytes)
    for (let at = 0; at < chunk.length; at += pieceBytes) yield chunk.subarray(at, at + pieceBytes);
}
