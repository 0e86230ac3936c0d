import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { type BlobCell, type Pack, textHashOf } from "../values/BlobCell.ts";
import { estimateBytes } from "../values/estimateBytes.ts";
import { encodeValue, type StoredValue } from "../values/valueCodec.ts";

/** A large value or a pack on its way to the blob store. What refers to it is whole once `place` was called. */
export interface BlobUpload {
  readonly content: string | Uint8Array;
  /** @param compressed true when the blob holds the text compressed. */
  readonly place: (reference: string, compressed: boolean) => void;
}

interface WaitingUpload extends BlobUpload {
  /** What a record refers to it by. */
  readonly target: BlobCell | Pack;
  /** Absent: a pack. */
  readonly hash?: string;
}

/** Values up to this many bytes of UTF-8 JSON stay in the log. */
export const defaultInlineThresholdBytes = 10 * 1024;

/** What a {@link BlobWriter} begins with. */
export interface BlobWriterOptions {
  readonly sha256: Sha256;
  /** Default: {@link defaultInlineThresholdBytes}. */
  readonly inlineThresholdBytes?: number;
  /** Those that the log refers to already. Default: none. */
  readonly blobs?: Iterable<BlobCell>;
}

/** Writes the values of one log. Large ones become blobs, the same content once. */
export class BlobWriter {
  readonly #sha256: Sha256;
  readonly #threshold: number;
  /** By the hash of their text: blobs that the log refers to already, and those on their way. */
  readonly #blobs: Map<string, BlobCell>;
  #uploads: WaitingUpload[] = [];

  constructor({ sha256, inlineThresholdBytes = defaultInlineThresholdBytes, blobs = [] }: BlobWriterOptions) {
    this.#sha256 = sha256;
    this.#threshold = inlineThresholdBytes;
    this.#blobs = new Map([...blobs].map((cell) => [textHashOf(cell), cell]));
  }

  /** @throws NotSerializableError */
  value(value: unknown, subject: string): StoredValue {
    return this.externalise(encodeValue(value, subject));
  }

  /** Values were written that are not going to be stored after all. @param first how many uploads there were before them. */
  withdrawUploads(first: number): void {
    for (const { hash = "" } of this.#uploads.splice(first)) this.#blobs.delete(hash);
  }

  /** Blobs that are gone: their contents are stored again when they come up. */
  forgetBlobs(references: ReadonlySet<string>): void {
    for (const [hash, [reference]] of this.#blobs) if (references.has(reference)) this.#blobs.delete(hash);
  }

  /** The number of blobs on their way. */
  get uploads(): number {
    return this.#uploads.length;
  }

  /** The uploads for these targets, which do not wait any more. */
  take(targets: ReadonlySet<object>): readonly BlobUpload[] {
    const taken = this.#uploads.filter(({ target }) => targets.has(target));
    this.#uploads = this.#uploads.filter(({ target }) => !targets.has(target));
    return taken;
  }

  protected upload(upload: WaitingUpload): void {
    this.#uploads.push(upload);
  }

  /** A stored value as a reference to a blob, if it is large. */
  protected externalise(slot: StoredValue): StoredValue {
    const text = this.largeText(slot);
    if (text === undefined) return slot;
    const hash = this.#sha256.hex(text.text);
    const known = this.#blobs.get(hash);
    if (known) return { $blob: known };
    const cell: BlobCell = ["", text.bytes];
    const place = (reference: string, compressed: boolean): void => {
      cell[0] = reference;
      if (compressed) cell[2] = hash;
    };
    this.#blobs.set(hash, cell);
    this.upload({ target: cell, hash, content: text.text, place });
    return { $blob: cell };
  }

  /** The text of a value that is to be a blob. */
  protected largeText(slot: StoredValue): { readonly text: string; readonly bytes: number } | undefined {
    if (estimateBytes(slot) * 3 <= this.#threshold) return undefined;
    const text = JSON.stringify(slot);
    const bytes = new TextEncoder().encode(text).length;
    return bytes <= this.#threshold ? undefined : { text, bytes };
  }
}
