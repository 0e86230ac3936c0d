import type { BlobStore } from "./BlobStore.ts";

/** For storages that refer to no blob: nothing is stored and nothing is found. */
export const noBlobStore: BlobStore = {
  put: async (_agentId, generation) => `blob://${"0".repeat(64)}-${generation}`,
  get: async () => undefined,
  delete: async () => {},
};
