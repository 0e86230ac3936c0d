/**
 * Stores large values of a storage outside the log. A stored blob never changes. The library puts, gets and deletes up
 * to eight blobs of an agent concurrently.
 *
 * @example
 * ```ts
 * import { createHash } from "node:crypto";
 *
 * class MapBlobStore implements BlobStore {
 *   readonly #blobs = new Map<string, Uint8Array>();
 *   async put(agentId: string, generation: number, bytes: Uint8Array, encoding?: "gzip") {
 *     const reference = `blob://${createHash("sha256").update(bytes).digest("hex")}-${generation}${encoding ? ".gz" : ""}`;
 *     this.#blobs.set(`${agentId} ${reference}`, bytes.slice());
 *     return reference;
 *   }
 *   get = async (agentId: string, reference: string) => this.#blobs.get(`${agentId} ${reference}`)?.slice();
 *   delete = async (agentId: string, reference: string) => void this.#blobs.delete(`${agentId} ${reference}`);
 * }
 * ```
 */
export interface BlobStore {
  /**
   * Stores the bytes and resolves to a reference (`blob://…`) when they are as durable as an append of this storage. If
   * one owner puts the same bytes twice, both calls return the same reference.
   *
   * @param generation - the generation of the log's owner. It is part of the reference, so two owners never share a
   * blob.
   * @param encoding - the content type, for people who inspect the storage. The reference ends in `.gz` for `"gzip"`.
   * Defaults to JSON text. The bytes are stored unmodified in both cases.
   */
  put(agentId: string, generation: number, bytes: Uint8Array, encoding?: "gzip"): Promise<string>;
  /** Returns the bytes. They must match the hash in the reference. `undefined` if the agent has no such blob. */
  get(agentId: string, reference: string): Promise<Uint8Array | undefined>;
  /**
   * Copies a blob to another agent, which the caller owns, under the same reference. The copy is as durable as a blob
   * from `put`. Resolves to `false` if the first agent has no such blob. A storage may share the bytes instead of
   * copying them. If the method is missing, the library reads the blob and stores the bytes with `put`.
   */
  copy?(fromAgentId: string, reference: string, toAgentId: string): Promise<boolean>;
  /** Deletes a blob. Does nothing if the blob is missing. */
  delete(agentId: string, reference: string): Promise<void>;
  /**
   * Stores bytes under a reference that the caller chooses, as durably as `put`. Replaces existing bytes. The caller
   * checks the bytes itself, because the reference does not contain their hash. If {@link putNamed} or {@link getNamed}
   * is missing, the storage cannot be encrypted.
   *
   * @param reference - has the form of the references that `put` returns.
   */
  putNamed?(agentId: string, reference: string, bytes: Uint8Array): Promise<void>;
  /** Returns the bytes without checking them. `undefined` if the agent has no such blob. */
  getNamed?(agentId: string, reference: string): Promise<Uint8Array | undefined>;
}

/** The number of blobs of an agent that are put, read or deleted concurrently. Such calls mostly wait. */
export const blobsAtOnce = 8;

/** A blob store without content, for storages that never refer to blobs. */
export const noBlobStore: BlobStore = {
  put: async (_agentId, generation) => `blob://${"0".repeat(64)}-${generation}`,
  get: async () => undefined,
  delete: async () => {},
};

const storedForms = new WeakMap<BlobStore, BlobStore>();

/** Notes the store that keeps the blobs of another store in their stored form. */
export function noteStoredBlobs(blobs: BlobStore, stored: BlobStore): void {
  storedForms.set(blobs, stored);
}

/** Returns the store for blobs in their stored form, such as blobs of an archive. */
export function storedBlobsOf(blobs: BlobStore): BlobStore {
  return storedForms.get(blobs) ?? blobs;
}
