import { z } from "zod";
import { formatVersion } from "../checkpoint/records/Entry.ts";
import { InvalidArchiveError } from "../errors/storedDataErrors.ts";
import { withoutUndefined } from "../internal/withoutUndefined.ts";
import { concatenated } from "../internal/bytes.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import {
  type ArchiveEnd,
  ArchiveHash,
  type ArchiveHeader,
  type ArchivePart,
  bytesOfItem,
  defaultMaxPartBytes,
  longestHeadBytes,
} from "./archiveFormat.ts";
import { gunzipped } from "./gzipStream.ts";
import { itemsIn } from "./itemsIn.ts";

const gzipMark = [0x1f, 0x8b];
const start = new TextEncoder().encode('{"archive":');
const partHead = /^(?:line ([1-9][0-9]{0,9})|blob ([0-9]{1,10}) (blob:\/\/[0-9a-f]{64}-[1-9][0-9]{0,14}(?:\.gz)?))$/;
const count = z.int().nonnegative();
const headerSchema = z.strictObject({
  archive: z.literal(1),
  format: z.int().positive(),
  library: z.literal("agent-persistence"),
  agentId: z.string(),
  position: z.int().positive(),
  generation: z.int().positive(),
  checkpoint: count.optional(),
  move: z.string().min(1).max(100).optional(),
  shape: z.string().optional(),
});
const endSchema = z.strictObject({ lines: count, blobs: count, sha256: z.string() });

/** Reads an archive part by part. It holds one part at a time, and allocates memory only for received bytes. */
export class ArchiveReader {
  readonly #hash: ArchiveHash;
  readonly #bytes: ByteReader;
  readonly #maxPartBytes: number;

  private constructor(bytes: ByteReader, sha256: Sha256, maxPartBytes: number) {
    this.#bytes = bytes;
    this.#maxPartBytes = maxPartBytes;
    this.#hash = new ArchiveHash(sha256);
  }

  /** Opens an archive and detects compression. The caller closes the stream. @throws InvalidArchiveError */
  static async open(
    stream: AsyncIterator<Uint8Array>,
    sha256: Sha256,
    maxPartBytes = defaultMaxPartBytes,
  ): Promise<{ readonly header: ArchiveHeader; readonly reader: ArchiveReader }> {
    const plain = new ByteReader(stream);
    const isCompressed = isSame(await plain.peek(gzipMark.length), gzipMark);
    const reader = new ArchiveReader(
      isCompressed ? new ByteReader(gunzipped(plain.rest())) : plain,
      sha256,
      maxPartBytes,
    );
    return { header: await reader.#header(), reader };
  }

  /** Yields the parts in order. Verifies the end of the archive before it finishes. @throws InvalidArchiveError */
  async *parts(): AsyncGenerator<ArchivePart, void, undefined> {
    const found = { lines: 0, blobs: 0 };
    for (;;) {
      const head = await this.#bytes.text();
      const [, lineBytes, blobBytes, reference] = partHead.exec(head) ?? [];
      if (lineBytes === undefined && blobBytes === undefined) return this.#assertEnd(head, found);
      const bytes = await this.#part(Number(lineBytes ?? blobBytes));
      if (reference === undefined) this.#assertFewItems(bytes);
      const part: ArchivePart = reference === undefined ? { kind: "line", bytes } : { kind: "blob", bytes, reference };
      if ((await this.#bytes.text()) !== "") throw new InvalidArchiveError("a part does not have its stated length");
      this.#hash.add(part);
      found[part.kind === "line" ? "lines" : "blobs"]++;
      yield part;
    }
  }

  async #part(length: number): Promise<Uint8Array> {
    const most = this.#maxPartBytes;
    if (length <= most) return this.#bytes.bytes(length);
    throw new InvalidArchiveError(`a part has ${length} bytes, but maxPartBytes allows ${most}`);
  }

  /** Small values take up to 50 times their size in memory once they are parsed, so their number has its own limit. */
  #assertFewItems(line: Uint8Array): void {
    const most = Math.max(defaultMaxPartBytes, this.#maxPartBytes) / bytesOfItem;
    // Most lines have fewer bytes than this.
    if (line.length <= most || itemsIn(line) <= most) return;
    throw new InvalidArchiveError(
      `a line has more than ${most} values and keys, which is one for every ${bytesOfItem} bytes of maxPartBytes`,
    );
  }

  async #header(): Promise<ArchiveHeader> {
    const isArchive = isSame(await this.#bytes.peek(start.length), start);
    const text = isArchive ? await this.#bytes.text() : "";
    const header = headerSchema.safeParse(parsed(text)).data;
    if (!header) throw new InvalidArchiveError("it does not start with the header of an archive");
    if (header.format > formatVersion)
      throw new InvalidArchiveError(`its format is ${header.format}, and this version reads up to ${formatVersion}`);
    this.#hash.addText(`${text}\n`);
    return withoutUndefined(header) as ArchiveHeader;
  }

  async #assertEnd(head: string, found: Omit<ArchiveEnd, "sha256">): Promise<void> {
    const end = endSchema.safeParse(parsed(head)).data;
    if (!end) throw new InvalidArchiveError("a part is not readable");
    if (end.lines !== found.lines || end.blobs !== found.blobs) throw new InvalidArchiveError("parts are missing");
    if (end.sha256 !== this.#hash.value) throw new InvalidArchiveError("it was changed after it was made");
    if ((await this.#bytes.peek(1)).length > 0) throw new InvalidArchiveError("there is data after its end");
  }
}

function isSame(bytes: Uint8Array, expected: ArrayLike<number>): boolean {
  return bytes.length === expected.length && bytes.every((byte, at) => byte === expected[at]);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const lineBreak = 10;
const decoder = new TextDecoder();

class ByteReader {
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

  async bytes(length: number): Promise<Uint8Array> {
    if (length > defaultMaxPartBytes) {
      while (this.#length < length) if (!(await this.#more())) throw new InvalidArchiveError("its end is missing");
      return this.#take(length);
    }
    // Memory that is not written yet takes no room, and received chunks are released early.
    const whole = new Uint8Array(length);
    for (let at = 0; at < length;) {
      if (this.#length === 0 && !(await this.#more())) throw new InvalidArchiveError("its end is missing");
      const received = this.#take(Math.min(this.#length, length - at));
      whole.set(received, at);
      at += received.length;
    }
    return whole;
  }

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
