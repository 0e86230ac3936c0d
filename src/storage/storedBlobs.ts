import type { BlobStore } from "./BlobStore.ts";

const storedForms = new WeakMap<BlobStore, BlobStore>();

/** Notes the store that keeps the blobs of another store in their stored form. */
export function noteStoredBlobs(blobs: BlobStore, stored: BlobStore): void {
  storedForms.set(blobs, stored);
}

/** Returns the store for blobs in their stored form, such as blobs of an archive. */
export function storedBlobsOf(blobs: BlobStore): BlobStore {
  return storedForms.get(blobs) ?? blobs;
}
