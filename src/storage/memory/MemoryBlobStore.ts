import { CorruptBlobError } from "../../errors/storage/CorruptBlobError.ts";
import { formatBlobReference, parseBlobReference } from "../blobReference.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { BlobStore } from "../BlobStore.ts";

/** Blobs in memory: copied in and out, so that callers cannot change what is stored. */
export class MemoryBlobStore implements BlobStore {
  readonly #sha256: () => Promise<Sha256>;
  readonly #blobs = new Map<string, Map<string, Uint8Array>>();

  constructor(sha256: () => Promise<Sha256>) {
    this.#sha256 = sha256;
  }

  async put(agentId: string, generation: number, bytes: Uint8Array, encoding?: "gzip"): Promise<string> {
    const copy = bytes.slice();
    const reference = formatBlobReference({ hash: (await this.#sha256()).hex(copy), generation, encoding });
    const ofAgent = this.#blobs.get(agentId) ?? new Map<string, Uint8Array>();
    this.#blobs.set(agentId, ofAgent.set(reference, copy));
    return reference;
  }

  async get(agentId: string, reference: string): Promise<Uint8Array | undefined> {
    const bytes = this.#blobs.get(agentId)?.get(reference);
    if (bytes === undefined) return undefined;
    if ((await this.#sha256()).hex(bytes) !== parseBlobReference(reference)?.hash)
      throw new CorruptBlobError(agentId, reference);
    return bytes.slice();
  }

  async delete(agentId: string, reference: string): Promise<void> {
    this.#blobs.get(agentId)?.delete(reference);
  }

  /** Removes all blobs of an agent. */
  clear(agentId: string): void {
    this.#blobs.delete(agentId);
  }
}
