import type { BlobStore } from "../BlobStore.ts";

/** Of a storage that keeps every value inside its checkpoint: nothing is ever put here. */
export const noBlobs: BlobStore = {
  put: async (_agentId, generation) => `blob://${"0".repeat(64)}-${generation}`,
  get: async () => undefined,
  delete: async () => {},
};
