import { InvalidArchiveError } from "../errors/storage/InvalidArchiveError.ts";

/** Bytes, compressed. What is asked for is compressed, and little more. */
export function gzipped(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return through(bytes, new CompressionStream("gzip"));
}

/** The inverse of {@link gzipped}. @throws InvalidArchiveError when they are not what gzip makes; what they throw. */
export async function* gunzipped(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let failure: { readonly error: unknown } | undefined;
  async function* noted(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield* bytes;
    } catch (error) {
      failure = { error };
      throw error;
    }
  }
  try {
    yield* through(noted(), new DecompressionStream("gzip"));
  } catch (cause) {
    if (failure) throw failure.error;
    throw new InvalidArchiveError("it cannot be decompressed", { cause });
  }
}

function through(
  bytes: AsyncIterable<Uint8Array>,
  transform: CompressionStream | DecompressionStream,
): AsyncIterable<Uint8Array> {
  const iterator = bytes[Symbol.asyncIterator]();
  const source = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value, done } = await iterator.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
  return source.pipeThrough(transform as ReadableWritablePair<Uint8Array, Uint8Array>);
}
