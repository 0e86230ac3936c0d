import type { ChainLink } from "../../../checkpoint/format/EntryChain.ts";
import type { AgentFolder } from "../format/AgentFolder.ts";
import { newClaim, type FileBackend } from "../backend/FileBackend.ts";
import { publishReplacement } from "../own/publishSegment.ts";
import { removeFiles } from "../format/removeLeftovers.ts";
import { droppedSegment } from "../format/segmentContent.ts";
import type { Taken } from "../own/takeOwnership.ts";

/**
 * Removes an agent: one new segment that holds nothing takes the place of all, so that a crash leaves the agent whole or
 * gone, and the bytes of its log are removed and not only hidden.
 */
export async function dropSegments(
  backend: FileBackend,
  folder: AgentFolder,
  taken: Taken,
  end: ChainLink,
): Promise<Taken> {
  const claim = newClaim(backend, folder.agentId, taken.claim.generation + 1, taken.claim.nonce);
  const segment = await publishReplacement(backend, folder, claim, droppedSegment(claim, end, backend.sha256));
  for (const path of [folder.blobs, folder.owners, folder.temporary]) await removeFiles(backend.disk, path);
  return { segment, claim, end: { position: end.position, checksum: "" } };
}
