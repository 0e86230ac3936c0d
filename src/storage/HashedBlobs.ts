import { CorruptBlobError } from "../errors/storedDataErrors.ts";
import { assertAgentId } from "../internal/options/assertAgentId.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import type { BlobStore } from "./BlobStore.ts";
import { formatBlobReference, parseBlobReference } from "./blobs.ts";

/** Base class of blob stores whose references contain the hash of the bytes. Subclasses store bytes by reference. */
export abstract class HashedBlobs implements BlobStore {
  protected readonly sha256: () => Promise<Sha256>;

  constructor(sha256: () => Promise<Sha256>) {
    this.sha256 = sha256;
  }

  async put(agentId: string, generation: number, bytes: Uint8Array, encoding?: "gzip"): Promise<string> {
    assertAgentId(agentId);
    // The caller may change its bytes after this call, and a slice of a Node Buffer shares the memory of a larger buffer.
    const copy = new Uint8Array(bytes);
    const reference = formatBlobReference({ hash: (await this.sha256()).hex(copy), generation, encoding });
    await this.putNamed(agentId, reference, copy);
    return reference;
  }

  /** @throws CorruptBlobError if the stored bytes do not match the hash in the reference. */
  async get(agentId: string, reference: string): Promise<Uint8Array | undefined> {
    const bytes = await this.getNamed(agentId, reference);
    if (!bytes || (await this.sha256()).hex(bytes) === parseBlobReference(reference)?.hash) return bytes;
    throw new CorruptBlobError(agentId, reference, undefined, { place: await this.placeOf(agentId, reference) });
  }

  abstract putNamed(agentId: string, reference: string, bytes: Uint8Array): Promise<void>;
  abstract getNamed(agentId: string, reference: string): Promise<Uint8Array | undefined>;
  abstract delete(agentId: string, reference: string): Promise<void>;

  /** Returns the location of a blob for errors. `undefined` if the error names no location. */
  protected abstract placeOf(agentId: string, reference: string): Promise<string | undefined>;
}
