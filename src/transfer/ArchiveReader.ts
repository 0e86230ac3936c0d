import { z } from "zod";
import { formatVersion } from "../checkpoint/records/Entry.ts";
import { InvalidArchiveError } from "../errors/storedDataErrors.ts";
import { withoutUndefined } from "../internal/withoutUndefined.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import {
  type ArchiveEnd,
  ArchiveHash,
  type ArchiveHeader,
  type ArchivePart,
  bytesOfItem,
  defaultMaxPartBytes,
  headerShape,
} from "./format/archiveFormat.ts";
import { ByteReader } from "./format/ByteReader.ts";
import type { KeySource } from "../storage/KeySource.ts";
import type { LogStorage } from "../storage/PersistenceStorageProvider.ts";
import { type ArchiveKeys, decryptedArchive, readingKeys } from "./format/encryptedArchive.ts";
import { parsedJson } from "../internal/parsedJson.ts";
import { gunzipped } from "./gzipStream.ts";

const lineBreak = 10;
const gzipMark = [0x1f, 0x8b];
const start = new TextEncoder().encode('{"archive":');
const partHead = /^(?:line ([1-9][0-9]{0,9})|blob ([0-9]{1,10}) (blob:\/\/[0-9a-f]{64}-[1-9][0-9]{0,14}(?:\.gz)?))$/;
const count = z.int().nonnegative();
const headerSchema = z.strictObject({
  archive: z.literal(1),
  format: z.int().positive(),
  library: z.literal("agent-persistence"),
  ...headerShape,
  checkpoint: count.optional(),
  move: z.string().min(1).max(100).optional(),
});
const endSchema = z.strictObject({ lines: count, blobs: count, sha256: z.string() });

/**
 * Reads an archive part by part. Only one part is in memory at a time, and memory is allocated only for received bytes.
 */
export class ArchiveReader {
  readonly #hash: ArchiveHash;
  readonly #bytes: ByteReader;
  readonly #maxPartBytes: number;

  private constructor(bytes: ByteReader, sha256: Sha256, maxPartBytes: number) {
    this.#bytes = bytes;
    this.#maxPartBytes = maxPartBytes;
    this.#hash = new ArchiveHash(sha256);
  }

  /**
   * Opens an archive and detects encryption and compression. The caller closes the stream.
   *
   * @throws InvalidArchiveError, KeyMissingError, AuthenticationFailedError
   */
  static async open(
    stream: AsyncIterator<Uint8Array>,
    sha256: Sha256,
    maxPartBytes: number = defaultMaxPartBytes,
    keys?: ArchiveKeys,
  ): Promise<{ readonly header: ArchiveHeader; readonly reader: ArchiveReader }> {
    const plain = await decryptedArchive(new ByteReader(stream), keys);
    const isCompressed = await plain.startsWith(gzipMark);
    const reader = new ArchiveReader(
      isCompressed ? new ByteReader(gunzipped(plain.rest(), 8 * Math.max(defaultMaxPartBytes, maxPartBytes))) : plain,
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
      this.#hash.add(part);
      found[part.kind === "line" ? "lines" : "blobs"]++;
      yield part;
    }
  }

  /** Reads a part and the line break after it. */
  async #part(length: number): Promise<Uint8Array> {
    const most = this.#maxPartBytes;
    if (length > most) throw new InvalidArchiveError(`a part has ${length} bytes, but maxPartBytes allows ${most}`);
    const bytes = await this.#bytes.bytes(length + 1);
    if (bytes[length] === lineBreak) return bytes.subarray(0, length);
    throw new InvalidArchiveError("a part does not have its stated length");
  }

  /**
   * The maximum number of values and keys in a line. They have a separate limit, because parsed small values take up to
   * 50 times their size in memory.
   */
  #assertFewItems(line: Uint8Array): void {
    const most = Math.max(defaultMaxPartBytes, this.#maxPartBytes) / bytesOfItem;
    // A line cannot have more items than bytes, so the items of a short line are not counted.
    if (line.length <= most || itemsIn(line) <= most) return;
    throw new InvalidArchiveError(
      `a line has more than ${most} values and keys, which is one for every ${bytesOfItem} bytes of maxPartBytes`,
    );
  }

  async #header(): Promise<ArchiveHeader> {
    const isArchive = await this.#bytes.startsWith(start);
    const text = isArchive ? await this.#bytes.text() : "";
    const header = headerSchema.safeParse(parsedJson(text)).data;
    if (!header) throw new InvalidArchiveError("it does not start with the header of an archive");
    if (header.format > formatVersion)
      throw new InvalidArchiveError(`its format is ${header.format}, and this version reads up to ${formatVersion}`);
    this.#hash.addText(`${text}\n`);
    return withoutUndefined(header) as ArchiveHeader;
  }

  async #assertEnd(head: string, found: Omit<ArchiveEnd, "sha256">): Promise<void> {
    const end = endSchema.safeParse(parsedJson(head)).data;
    if (!end) throw new InvalidArchiveError("a part is not readable");
    if (end.lines !== found.lines || end.blobs !== found.blobs) throw new InvalidArchiveError("parts are missing");
    if (end.sha256 !== this.#hash.value) throw new InvalidArchiveError("it was changed after it was made");
    if ((await this.#bytes.peek(1)).length > 0) throw new InvalidArchiveError("there is data after its end");
  }
}

/** An archive that is received. */
export interface ReceivedArchive {
  readonly header: ArchiveHeader;
  readonly reader: ArchiveReader;
  readonly sha256: Sha256;
}

/** Opens the archive in a stream for a storage. Closes the stream after use. */
export async function withArchive<Result>(
  target: LogStorage,
  stream: AsyncIterable<Uint8Array>,
  { maxPartBytes, keys }: { readonly maxPartBytes?: number | undefined; readonly keys?: KeySource | undefined },
  use: (archive: ReceivedArchive) => Promise<Result>,
): Promise<Result> {
  const bytes = stream[Symbol.asyncIterator]();
  try {
    const sha256 = await target.sha256();
    return await use({ ...(await ArchiveReader.open(bytes, sha256, maxPartBytes, readingKeys(target, keys))), sha256 });
  } finally {
    await bytes.return?.();
  }
}

const quote = 34;
const backslash = 92;
/** Contains 1 at `,`, `[`, `{` and `:`. One of these bytes precedes every value and key except the first. */
const beforeItem = Uint8Array.from({ length: 256 }, (_, byte) => (",[{:".includes(String.fromCharCode(byte)) ? 1 : 0));

/** Counts the values and keys in JSON text without parsing it. An empty array or object counts as two. */
export function itemsIn(text: Uint8Array): number {
  let count = 1;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] ?? 0;
    if (byte === quote) at = endOfString(text, at);
    else count += beforeItem[byte] ?? 0;
  }
  return count;
}

function endOfString(text: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== quote) at += text[at] === backslash ? 2 : 1;
  return at;
}
