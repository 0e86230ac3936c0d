import type { LogProjection } from "../checkpoint/state/LogProjection.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import type { BlobStore } from "../storage/BlobStore.ts";

/** Reads the contents that notes name by hash, from their packs. A content that does not match its hash is not returned. */
export class PackedContents {
  readonly #blobs: BlobStore;
  readonly #agentId: string;
  readonly #index: LogProjection;
  readonly #sha256: Sha256;
  /** The pack that was read last: contents are requested in about the order of the pack. */
  #last: { readonly blob: string; readonly bytes: Uint8Array | undefined } | undefined;

  constructor(options: {
    readonly blobs: BlobStore;
    readonly agentId: string;
    readonly index: LogProjection;
    readonly sha256: Sha256;
  }) {
    this.#blobs = options.blobs;
    this.#agentId = options.agentId;
    this.#index = options.index;
    this.#sha256 = options.sha256;
  }

  /** `undefined` when the log has no content of this hash. @throws CorruptBlobError */
  async read(hash: string): Promise<Uint8Array | undefined> {
    const place = this.#index.contents.get(hash);
    if (!place) return undefined;
    const pack = await this.#pack(place.blob);
    const bytes = pack?.slice(place.offset, place.offset + place.bytes);
    return bytes && this.#sha256.hex(bytes) === hash ? bytes : undefined;
  }

  async #pack(blob: string): Promise<Uint8Array | undefined> {
    if (this.#last?.blob !== blob) this.#last = { blob, bytes: await this.#blobs.get(this.#agentId, blob) };
    return this.#last.bytes;
  }
}
