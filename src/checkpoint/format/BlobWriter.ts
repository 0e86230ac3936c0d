import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { type BlobCell, type Pack, textHashOf } from "../values/BlobCell.ts";
import { estimateBytes } from "../values/estimateBytes.ts";
import { encodeValue, type StoredValue } from "../values/valueCodec.ts";

/** A large value that must be stored as a blob. Then `place` writes the reference of the blob into the records. */
export interface BlobUpload {
  readonly content: string | Uint8Array;
  readonly place: (reference: string, compressed: boolean) => void;
}

interface WaitingUpload extends BlobUpload {
  readonly target: BlobCell | Pack;
  readonly hash?: string;
}

/** Values up to this number of bytes of UTF-8 JSON stay in the log. */
export const defaultInlineThresholdBytes = 10 * 1024;

export interface BlobWriterOptions {
  readonly sha256: Sha256;
  readonly inlineThresholdBytes?: number;
  readonly blobs?: Iterable<BlobCell>;
}

/** Encodes the values of one log. Large values become blobs. Equal content is stored once. */
export class BlobWriter {
  readonly #sha256: Sha256;
  readonly #threshold: number;
  readonly #blobs: Map<string, BlobCell>;
  #uploads: WaitingUpload[] = [];

  constructor({ sha256, inlineThresholdBytes = defaultInlineThresholdBytes, blobs = [] }: BlobWriterOptions) {
    this.#sha256 = sha256;
    this.#threshold = inlineThresholdBytes;
    this.#blobs = new Map([...blobs].map((cell) => [textHashOf(cell), cell]));
  }

  value(value: unknown, subject: string): StoredValue {
    return this.externalise(encodeValue(value, subject));
  }

  /** Withdraws the uploads of values that will not be stored. @param first - the number of uploads to keep. */
  withdrawUploads(first: number): void {
    for (const { hash = "" } of this.#uploads.splice(first)) this.#blobs.delete(hash);
  }

  /** Forgets deleted blobs, so that their content is stored again. */
  forgetBlobs(references: ReadonlySet<string>): void {
    for (const [hash, [reference]] of this.#blobs) if (references.has(reference)) this.#blobs.delete(hash);
  }

  get uploads(): number {
    return this.#uploads.length;
  }

  take(targets: ReadonlySet<object>): readonly BlobUpload[] {
    const taken = this.#uploads.filter(({ target }) => targets.has(target));
    this.#uploads = this.#uploads.filter(({ target }) => !targets.has(target));
    return taken;
  }

  protected upload(upload: WaitingUpload): void {
    this.#uploads.push(upload);
  }

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

  protected largeText(slot: StoredValue): { readonly text: string; readonly bytes: number } | undefined {
    if (estimateBytes(slot) * 6 <= this.#threshold) return undefined;
    const text = JSON.stringify(slot);
    // A code unit has at most three bytes in UTF-8.
    if (text.length * 3 <= this.#threshold) return undefined;
    const bytes = new TextEncoder().encode(text).length;
    return bytes <= this.#threshold ? undefined : { text, bytes };
  }
}
