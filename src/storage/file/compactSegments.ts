import { type ChainLink, EntryChain } from "../../checkpoint/format/EntryChain.ts";
import { Pace } from "../../internal/nextTurn.ts";
import type { Disk } from "../../nodejs/Disk.ts";
import { parseBlobReference } from "../blobs.ts";
import { type FileBackend, newClaim } from "./owner/FileBackend.ts";
import { type AgentFolder, isOfEarlierOwner, removeFiles } from "./layout/AgentFolder.ts";
import { SegmentScan } from "./layout/SegmentScan.ts";
import { droppedSegment, wholeSegment } from "./layout/Segment.ts";
import { publishReplacement } from "./owner/OwnedSegment.ts";
import type { Held } from "./takeOwnership.ts";
import { LogLoader, type LogPart } from "./read/LogLoader.ts";
import { LogReader } from "./read/LogReader.ts";
import { join } from "node:path";

/**
 * Writes the remaining log into one new segment, then removes the older segments and unreferenced blobs. Appends must
 * not run concurrently. Lines are copied byte for byte, without the positions that `pruned` records name. First removes
 * the temporary files of earlier owners, because they can contain pruned lines.
 */
export async function compactSegments(backend: FileBackend, folder: AgentFolder, taken: Held): Promise<Held> {
  await removeFiles(backend.disk, folder.temporary, isOfEarlierOwner(taken.claim.generation));
  const loader = new LogLoader(folder, backend);
  const { parts, from } = await loader.load({ needsOlder: () => true });
  const chain = new EntryChain(new LogReader(folder, backend).gapsIn(parts), {
    position: from,
    checksum: "",
  });
  const pace = new Pace();
  const lines: Buffer[] = [];
  for (const { line, isKept } of linesOf(new SegmentScan(folder.agentId, backend.sha256), parts, chain)) {
    if (isKept) lines.push(line);
    await pace.after(line.length);
  }
  const claim = newClaim(backend, folder.agentId, taken.claim.generation + 1, taken.claim.nonce);
  const segment = await publishReplacement(backend, folder, claim, wholeSegment(claim, lines, from, backend.sha256));
  // Blobs that cannot be removed now are removed by the next compaction.
  await sweepBlobs(backend.disk, folder, lines, taken.claim.generation).catch(() => {});
  return { segment, claim, end: taken.end };
}

function* linesOf(
  scan: SegmentScan,
  parts: readonly LogPart[],
  chain: EntryChain,
): Generator<{ readonly line: Buffer; readonly isKept: boolean }> {
  for (const part of parts) {
    for (const { start, end, link } of scan.links(part.segment, part)) {
      const defect = chain.accept(link);
      if (defect !== undefined) throw scan.corrupt(part.segment, start, defect);
      yield { line: part.segment.bytes.subarray(start, end + 1), isKept: !chain.isPruned(link.position) };
    }
  }
}

const scheme = "blob://";
const references = /blob:\/\/[0-9a-f]{64}-[0-9]+(?:\.gz)?/g;

/**
 * Removes unreferenced blobs of earlier owners, which crashed before they wrote the line. Keeps all blobs of the current
 * owner, which can still write their lines. `lines` are all lines of the log.
 */
async function sweepBlobs(
  disk: Disk,
  folder: AgentFolder,
  lines: readonly Buffer[],
  generation: number,
): Promise<void> {
  const names = (await disk.readdir(folder.blobs)) ?? [];
  const earlier = names.filter((name) => (parseBlobReference(scheme + name)?.generation ?? generation) < generation);
  if (earlier.length === 0) return;
  const pace = new Pace();
  const named = new Set<string>();
  for (const line of lines) {
    for (const reference of line.toString("latin1").match(references) ?? []) named.add(reference);
    await pace.after(line.length);
  }
  for (const name of earlier) if (!named.has(scheme + name)) await disk.unlink(join(folder.blobs, name));
}

/**
 * Deletes an agent. One new empty segment replaces all others, so a crash leaves the agent either complete or deleted.
 * The bytes of the log are removed from the disk. A later owner may already use the directories of the agent, so only
 * blobs listed before the deletion are removed.
 */
export async function dropSegments(
  backend: FileBackend,
  folder: AgentFolder,
  taken: Held,
  end: ChainLink,
): Promise<Held> {
  const { disk, sha256 } = backend;
  const claim = newClaim(backend, folder.agentId, taken.claim.generation + 1, taken.claim.nonce);
  const blobs = ((await disk.readdir(folder.blobs)) ?? []).filter((name) => parseBlobReference(scheme + name));
  const segment = await publishReplacement(backend, folder, claim, droppedSegment(claim, end, sha256));
  try {
    for (const name of blobs) await disk.unlink(join(folder.blobs, name));
    const isEarlier = isOfEarlierOwner(claim.generation + 1);
    for (const path of [folder.owners, folder.temporary]) await removeFiles(disk, path, isEarlier);
  } catch (error) {
    await segment.close().catch(() => {});
    throw error;
  }
  return { segment, claim, end: { position: end.position, checksum: "" } };
}
