import type { BlobUpload } from "../checkpoint/SlotWriter.ts";
import type { BlobStore } from "./BlobStore.ts";

/** Puts large values where they belong and completes the records that refer to them, before those are appended. */
export async function putBlobs(
  blobs: BlobStore,
  agentId: string,
  generation: number,
  uploads: readonly BlobUpload[],
): Promise<void> {
  if (uploads.length === 0) return;
  const encoder = new TextEncoder();
  const references = new Map<string, string>();
  for (const { hash, content, place } of uploads) {
    const bytes = typeof content === "string" ? encoder.encode(content) : content;
    const reference = references.get(hash) ?? (await blobs.put(agentId, generation, bytes));
    references.set(hash, reference);
    place(reference);
  }
}
