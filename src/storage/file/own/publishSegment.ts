import { OwnershipLostError } from "../../../errors/storage/OwnershipLostError.ts";
import type { AgentFolder } from "../format/AgentFolder.ts";
import type { Claim } from "../format/controlLine.ts";
import type { FileBackend } from "../backend/FileBackend.ts";
import { releaseGeneration } from "../format/releasedGenerations.ts";
import { OwnedSegment } from "../backend/OwnedSegment.ts";

/** A new segment under a claim; `undefined` when its generation is taken. */
export async function publishSegment(
  backend: FileBackend,
  folder: AgentFolder,
  claim: Claim,
  bytes: Uint8Array,
): Promise<OwnedSegment | undefined> {
  try {
    const file = await backend.publisher.publish(folder, claim.generation, bytes);
    return file && new OwnedSegment(folder, backend.disk, claim.generation, file);
  } catch (error) {
    // The segment may exist all the same, without an owner that writes it.
    releaseGeneration(folder.segment(claim.generation), claim.nonce);
    throw error;
  }
}

/**
 * The segment that follows an owner's own and replaces all before it. Rejects with `OwnershipLostError` when another
 * owner came first. The check before anything is removed is vital: an owner that slept may link a number that is free only
 * because a later owner removed it.
 */
export async function publishReplacement(
  backend: FileBackend,
  folder: AgentFolder,
  claim: Claim,
  bytes: Uint8Array,
): Promise<OwnedSegment> {
  const segment = await publishSegment(backend, folder, claim, bytes);
  if (segment === undefined) throw new OwnershipLostError(folder.agentId, claim.generation - 1, claim.generation);
  try {
    await segment.check();
    await segment.removeOthers(new Set());
    return segment;
  } catch (error) {
    releaseGeneration(folder.segment(claim.generation), claim.nonce);
    await segment.close().catch(() => {});
    throw error;
  }
}
