import type { FileBackend } from "../owner/FileBackend.ts";
import { newClaim } from "../owner/FileBackend.ts";
import { publishSegment } from "../owner/OwnedSegment.ts";
import { OwnershipLostError } from "../../../errors/storageErrors.ts";
import type { AgentFolder } from "../layout/AgentFolder.ts";
import { encodeControl, openingBytes } from "../layout/controlLine.ts";
import { releaseGeneration } from "../owner/OwnerLiveness.ts";
import type { Taken } from "./takeOwnership.ts";

/**
 * Lets the owner of an empty log continue under a skipped, higher number. Another owner may concurrently publish the
 * next number. Therefore the segment is valid only after it has its name and the directory shows no segment in between.
 * Of two concurrent owners, at least one finds the other and gives up. The log is still empty, so no data can be lost.
 *
 * @throws OwnershipLostError if another owner was faster.
 */
export async function leaveOutNumbers(
  backend: FileBackend,
  folder: AgentFolder,
  { claim: { generation: before, nonce }, end }: Taken,
  generation: number,
): Promise<Taken> {
  const claim = { ...newClaim(backend, folder.agentId, generation, nonce), after: before };
  const bytes = Buffer.from(encodeControl("claim", claim, backend.sha256));
  const segment = await publishSegment(backend, folder, claim, bytes);
  if (segment === undefined) throw new OwnershipLostError(folder.agentId, before, generation);
  try {
    await segment.checkAfter(before);
    await segment.store(openingBytes([], { from: end.position, base: [] }, backend.sha256));
    await segment.removeOthers(new Set());
    return { segment, claim, end };
  } catch (error) {
    releaseGeneration(folder.segment(generation), nonce);
    await segment.close().catch(() => {});
    throw error;
  }
}
