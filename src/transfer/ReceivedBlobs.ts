import { InvalidArchiveError } from "../errors/storage/InvalidArchiveError.ts";
import { type BlobStore, blobsAtOnce } from "../storage/BlobStore.ts";
import { parseBlobReference } from "../storage/blobReference.ts";

/** How many bytes of blobs are held at a time, unless one alone has more. */
const mostBytes = 8 * 1024 * 1024;

/** Stores the blobs of an archive, several at a time, while the next ones come. */
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

  /** Begins to store one; waits while there are too many. @throws what storing an earlier one threw. */
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

  /** Resolves once all are stored. @throws InvalidArchiveError for one with another content; what storing one threw. */
  async stored(): Promise<void> {
    await this.ended();
    this.#assertStored();
  }

  /** Resolves once none is being stored, whether or not they were. */
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
