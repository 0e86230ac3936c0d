import type { BlobStore } from "../BlobStore.ts";

/** Keeps no blob. What refers to one is never read back either. */
export class NoBlobStore implements BlobStore {
  async put(_agentId: string, generation: number, _bytes: Uint8Array): Promise<string> {
    return `blob://${"0".repeat(64)}-${generation}`;
  }

  async get(_agentId: string, _reference: string): Promise<undefined> {
    return undefined;
  }

  async delete(_agentId: string, _reference: string): Promise<void> {}
}
