import { InvalidArchiveError } from "../../errors/storedDataErrors.ts";
import { concatenated } from "../../internal/bytes.ts";
import { defaultMaxPartBytes, longestHeadBytes } from "./archiveFormat.ts";

const lineBreak = 10;
const decoder = new TextDecoder();

/** Reads bytes from chunks of any size. Failures are reported as failures of an archive. */
export class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #chunks: Uint8Array[] = [];
  #length = 0;

  constructor(source: AsyncIterator<Uint8Array>) {
    this.#source = source;
  }

  /** Returns the next bytes without consuming them. Returns fewer bytes at the end. */
  async peek(length: number): Promise<Uint8Array> {
    let isMore = true;
    while (isMore && this.#length < length) isMore = await this.#more();
    return this.#joined().subarray(0, length);
  }

  async startsWith(expected: ArrayLike<number>): Promise<boolean> {
    const bytes = await this.peek(expected.length);
    return bytes.length === expected.length && bytes.every((byte, at) => byte === expected[at]);
  }

  /** Returns the next `length` bytes, or all remaining bytes if there are fewer. */
  async upTo(length: number): Promise<Uint8Array> {
    return this.#take((await this.peek(length)).length);
  }

  /** Returns the text up to the next line break. @throws InvalidArchiveError for a long line or a missing end */
  async text(): Promise<string> {
    for (;;) {
      const bytes = this.#joined();
      const at = bytes.indexOf(lineBreak);
      if (at > longestHeadBytes || (at < 0 && bytes.length > longestHeadBytes))
        throw new InvalidArchiveError("one of its lines is too long");
      if (at >= 0) return decoder.decode(this.#take(at + 1).subarray(0, at));
      if (!(await this.#more())) throw new InvalidArchiveError("its end is missing");
    }
  }

  /** @throws InvalidArchiveError if fewer bytes are left. */
  async bytes(length: number): Promise<Uint8Array> {
    if (length > defaultMaxPartBytes) {
      while (this.#length < length) if (!(await this.#more())) throw new InvalidArchiveError("its end is missing");
      return this.#take(length);
    }
    // Unwritten parts of the buffer take no physical memory, and each received chunk is released once it is copied.
    const whole = new Uint8Array(length);
    for (let at = 0; at < length;) {
      if (this.#length === 0 && !(await this.#more())) throw new InvalidArchiveError("its end is missing");
      const received = this.#take(Math.min(this.#length, length - at));
      whole.set(received, at);
      at += received.length;
    }
    return whole;
  }

  /** Yields all bytes that are left. */
  async *rest(): AsyncGenerator<Uint8Array, void, undefined> {
    do {
      const chunks = this.#chunks;
      [this.#chunks, this.#length] = [[], 0];
      yield* chunks;
    } while (await this.#more());
  }

  #take(length: number): Uint8Array {
    const bytes = this.#joined();
    const left = bytes.subarray(length);
    [this.#chunks, this.#length] = [left.length > 0 ? [left] : [], left.length];
    return bytes.subarray(0, length);
  }

  #joined(): Uint8Array {
    const [first = new Uint8Array()] = this.#chunks;
    if (this.#chunks.length <= 1) return first;
    const whole = concatenated(this.#chunks);
    this.#chunks = [whole];
    return whole;
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#source.next();
    if (done === true) return false;
    if (!(value instanceof Uint8Array)) throw new InvalidArchiveError("its stream yields values that are not bytes");
    this.#chunks.push(value);
    this.#length += value.length;
    return true;
  }
}
