import type { LogProjection } from "../checkpoint/state/LogProjection.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import type { BlobStore } from "../storage/BlobStore.ts";

interface ContentSource {
  readonly blobs: BlobStore;
  readonly agentId: string;
  readonly index: LogProjection;
  readonly sha256: Sha256;
}

/** Reads the contents of notes by hash from their packs. Ignores contents that do not match their hash. */
export class PackedContents {
  readonly #source: ContentSource;
  /** The pack that was read last. It is kept because contents are read roughly in the order of their packs. */
  #last: { readonly blob: string; readonly bytes: Promise<Uint8Array | undefined> } | undefined;

  constructor(source: ContentSource) {
    this.#source = source;
  }

  /** Returns `undefined` if the log has no content with this hash. @throws CorruptBlobError */
  async read(hash: string): Promise<Uint8Array | undefined> {
    const { blobs, agentId, index, sha256 } = this.#source;
    const place = index.contents.get(hash);
    if (!place) return undefined;
    const { blob, offset } = place;
    if (this.#last?.blob !== blob) this.#last = { blob, bytes: blobs.get(agentId, blob) };
    const { bytes: pack } = this.#last;
    try {
      const bytes = (await pack)?.slice(offset, offset + place.bytes);
      return bytes && sha256.hex(bytes) === hash ? bytes : undefined;
    } catch (error) {
      // The next read tries again.
      if (this.#last?.bytes === pack) this.#last = undefined;
      throw error;
    }
  }
}
