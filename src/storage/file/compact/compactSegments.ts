import { EntryChain } from "../../../internal/EntryChain.ts";
import type { AgentFolder } from "../format/AgentFolder.ts";
import { claimOf } from "../backend/claimOf.ts";
import type { FileBackend } from "../backend/FileBackend.ts";
import type { LogPart } from "../read/LogImage.ts";
import { LogLoader } from "../read/LogLoader.ts";
import { LogReader } from "../read/LogReader.ts";
import { publishReplacement } from "../own/publishSegment.ts";
import { wholeSegment } from "../format/segmentContent.ts";
import { SegmentScan } from "../format/SegmentScan.ts";
import { sweepBlobs } from "./sweepBlobs.ts";
import type { Taken } from "../own/takeOwnership.ts";

/**
 * Writes what remains of a log into one new segment and removes the older ones, and blobs that none of it names. Nothing is appended meanwhile. Lines stay
 * as they are, byte for byte; only positions that a `pruned` record names are left out, of earlier prunings too.
 */
export async function compactSegments(backend: FileBackend, folder: AgentFolder, taken: Taken): Promise<Taken> {
  const loader = new LogLoader(folder, backend.disk, backend.sha256);
  const { parts, from } = await loader.load({ needsOlder: () => true });
  const chain = new EntryChain(new LogReader(folder.agentId, loader, backend.sha256).gapsIn(parts), {
    position: from,
    checksum: "",
  });
  const lines = [...keptLines(new SegmentScan(folder.agentId, backend.sha256), parts, chain)];
  const claim = claimOf(backend, folder.agentId, taken.claim.generation + 1, taken.claim.nonce);
  const segment = await publishReplacement(backend, folder, claim, wholeSegment(claim, lines, from, backend.sha256));
  // What cannot be removed now is removed next time.
  await sweepBlobs(backend.disk, folder, lines, taken.claim.generation).catch(() => {});
  return { segment, claim, end: taken.end };
}

function* keptLines(scan: SegmentScan, parts: readonly LogPart[], chain: EntryChain): Generator<Buffer> {
  for (const part of parts) {
    for (const { start, end, link } of scan.links(part.segment, part)) {
      const defect = chain.accept(link);
      if (defect !== undefined) throw scan.corrupt(part.segment, start, defect);
      if (!chain.isPruned(link.position)) yield part.segment.bytes.subarray(start, end + 1);
    }
  }
}
