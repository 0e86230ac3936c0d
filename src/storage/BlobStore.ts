/**
 * Large values of one storage, kept apart from the log. Contents never change once put. The library puts, gets and deletes up to
 * eight blobs of an agent at a time.
 */
export interface BlobStore {
  /**
   * Keeps the bytes and resolves to a reference (`blob://…`) once they are as durable as an append of this storage.
   * The same bytes put twice by one owner give the same reference.
   *
   * @param generation the generation of the log's owner; a part of the reference, so that owners never share a blob.
   * @param encoding what the bytes are, for people who look at the storage: with `"gzip"` the reference ends in `.gz`.
   *   Default: JSON text. The bytes are kept as given in either case.
   */
  put(agentId: string, generation: number, bytes: Uint8Array, encoding?: "gzip"): Promise<string>;
  /** The bytes, checked against the hash in the reference; `undefined` when there is no such blob for this agent. */
  get(agentId: string, reference: string): Promise<Uint8Array | undefined>;
  /**
   * Gives a blob of one agent to another, which the caller owns, under the same reference: as durable as one that was put. Resolves to false when
   * the first agent has no such blob. Where it can, a storage copies no bytes. Absent: the library reads the blob and puts it.
   */
  copy?(fromAgentId: string, reference: string, toAgentId: string): Promise<boolean>;
  /** Removes a blob; nothing happens when it is not there. */
  delete(agentId: string, reference: string): Promise<void>;
}

/** How many blobs of an agent are put, read or deleted at a time: most of what that takes is waiting. */
export const blobsAtOnce = 8;

/** For storages that refer to no blob: nothing is stored and nothing is found. */
export const noBlobStore: BlobStore = {
  put: async (_agentId, generation) => `blob://${"0".repeat(64)}-${generation}`,
  get: async () => undefined,
  delete: async () => {},
};
