import type { FileBackend } from "../owner/FileBackend.ts";
import { newClaim } from "../owner/FileBackend.ts";
import { publishSegment } from "../owner/OwnedSegment.ts";
import { OwnershipLostError } from "../../../errors/storage/OwnershipLostError.ts";
import type { AgentFolder } from "../layout/AgentFolder.ts";
import { encodeControl, openingBytes } from "../layout/controlLine.ts";
import { releaseGeneration } from "../owner/OwnerLiveness.ts";
import type { Taken } from "./takeOwnership.ts";

/**
 * The owner of an empty log continues under a higher number than the next. Another may link the next number meanwhile, so
 * the segment counts only once it has its name and the folder shows nobody between: of two that come at once, the other
 * finds this name when it checks, and has lost too or alone. Nothing is in the log yet that could be lost with either.
 *
 * @throws OwnershipLostError
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
