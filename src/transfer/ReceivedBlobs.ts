import { InvalidArchiveError } from "../errors/storedDataErrors.ts";
import { type BlobStore, blobsAtOnce } from "../storage/BlobStore.ts";
import { parseBlobReference } from "../storage/blobs.ts";

/** The maximum number of pending blob bytes, unless a single blob is larger. */
const mostBytes = 8 * 1024 * 1024;

/** Stores the blobs of an archive concurrently while more data arrives. */
export class ReceivedBlobs {
  readonly #blobs: BlobStore;
  readonly #agentId: string;
  readonly #storing = new Set<Promise<void>>();
  #bytes = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(blobs: BlobStore, agentId: string) {
    this.#blobs = blobs;
    this.#agentId = agentId;
  }

  /** Starts to store a blob. Waits while too many are pending. @throws the error of an earlier blob */
  async put(reference: string, bytes: Uint8Array): Promise<void> {
    while (this.#storing.size >= blobsAtOnce || (this.#storing.size > 0 && this.#bytes + bytes.length > mostBytes))
      await Promise.race(this.#storing);
    this.#assertStored();
    this.#bytes += bytes.length;
    const storing = this.#store(reference, bytes)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#storing.delete(storing);
        this.#bytes -= bytes.length;
      });
    this.#storing.add(storing);
  }

  /**
   * Resolves after all blobs are stored. @throws InvalidArchiveError for a blob with another hash, or a storage error
   */
  async stored(): Promise<void> {
    await this.ended();
    this.#assertStored();
  }

  /** Resolves after all pending writes have settled. Never rejects. */
  async ended(): Promise<void> {
    await Promise.all(this.#storing);
  }

  #assertStored(): void {
    if (this.#failure) throw this.#failure.error;
  }

  async #store(reference: string, bytes: Uint8Array): Promise<void> {
    const { generation = 1, encoding } = parseBlobReference(reference) ?? {};
    if ((await this.#blobs.put(this.#agentId, generation, bytes, encoding)) !== reference)
      throw new InvalidArchiveError(`the blob ${reference} has another content`);
  }
}
