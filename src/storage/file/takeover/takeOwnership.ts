import type { ChainLink } from "../../../checkpoint/format/EntryChain.ts";
import { AgentBusyError, OwnershipLostError, StorageError } from "../../../errors/storageErrors.ts";
import type { TornTail } from "../../../checkpoint/records/Entry.ts";
import type { AgentSummary, LogOwner } from "../../RecordLog.ts";
import { type FileBackend, newClaim } from "../owner/FileBackend.ts";
import { type OwnedSegment, publishSegment } from "../owner/OwnedSegment.ts";
import { type AgentFolder, assertNoLinks, ensureAgentFolder, removeLeftovers } from "../layout/AgentFolder.ts";
import { SegmentScan } from "../layout/SegmentScan.ts";
import { type Claim, encodeControl, openingBytes } from "../layout/controlLine.ts";
import { releaseGeneration } from "../owner/OwnerLiveness.ts";
import {
  type ListedSegments,
  listSegments,
  type LoadedLog,
  LogLoader,
  segmentParts,
  tornTailOf,
} from "../read/LogLoader.ts";
import { lastWithSummary, summaryIn } from "../read/LogReader.ts";
import { carryWhole, copyTail, type CopiedTail, segmentsToCarry } from "./copyTail.ts";

const maxAttempts = 8;

export interface Taken {
  readonly segment: OwnedSegment;
  readonly claim: Claim;
  readonly end: ChainLink;
  /**
   * The last summary in the previous segment. `undefined` if that segment contains no summary, although older segments
   * may contain one.
   */
  readonly summary?: AgentSummary;
  /** The remains of an incomplete append of the previous owner. `undefined` if the log ends with a complete append. */
  readonly tornTail?: TornTail;
}

/**
 * Publishes the segment after the highest one, and only then reads the previous segments.
 *
 * @throws AgentBusyError if another owner is alive.
 */
export async function takeOwnership(backend: FileBackend, folder: AgentFolder, owner: LogOwner): Promise<Taken> {
  let listed = await listSegments(backend, folder);
  const missing = await assertNoLinks(backend.disk, [folder.temporary, folder.owners, folder.blobs]);
  // Copy tools and cleanup tools often drop empty directories.
  if (listed.generations.length === 0 || missing.length > 0) await ensureAgentFolder(backend.disk, folder);
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    await assertFree(backend, folder, highestOf(listed));
    const taken = await tryNext(backend, folder, owner, listed);
    if (taken !== undefined) return taken;
    listed = await listSegments(backend, folder);
  }
  const highest = highestOf(listed);
  await assertFree(backend, folder, highest);
  throw new AgentBusyError(folder.agentId, { ...owner, generation: highest }, backend.leaseMs);
}

function highestOf({ generations: [highest = 0] }: ListedSegments): number {
  return highest;
}

async function assertFree(backend: FileBackend, folder: AgentFolder, generation: number): Promise<void> {
  const { judge, identity } = backend;
  const judgement = generation === 0 ? undefined : await judge.judge(folder, generation);
  if (judgement?.state !== "alive") return;
  // The owner is unknown. If other files record a longer log, the log was truncated and waiting does not help.
  if (judgement.claim === undefined) await new LogLoader(folder, backend).load();
  const { host, processId, nonce } = judgement.claim ?? { ...identity, nonce: "" };
  throw new AgentBusyError(folder.agentId, { host, processId, nonce, generation }, judgement.retryAfterMs);
}

async function tryNext(
  backend: FileBackend,
  folder: AgentFolder,
  owner: LogOwner,
  listed: ListedSegments,
): Promise<Taken | undefined> {
  const generation = highestOf(listed) + 1;
  const claim = newClaim(backend, folder.agentId, generation, owner.nonce);
  const segment = await publishSegment(
    backend,
    folder,
    claim,
    Buffer.from(encodeControl("claim", claim, backend.sha256)),
  );
  if (segment === undefined) return undefined;
  try {
    const opened = await openSegment(backend, folder, segment, listed.known);
    backend.judge.forget(folder.agentId);
    return { segment, claim, ...opened };
  } catch (error) {
    releaseGeneration(folder.segment(generation), claim.nonce);
    await giveBack(backend, segment, error);
    if (error instanceof OwnershipLostError) return undefined;
    throw error;
  }
}

async function openSegment(
  backend: FileBackend,
  folder: AgentFolder,
  segment: OwnedSegment,
  known: ListedSegments["known"],
): Promise<Pick<Taken, "end" | "summary" | "tornTail">> {
  const loader = new LogLoader(folder, backend);
  const image = await loader.load({ below: { generation: segment.generation, known } });
  const scan = new SegmentScan(folder.agentId, backend.sha256, backend.identity.bootId);
  const appended = image.newest && scan.lastAppended(image.newest);
  const taken = await carrySegments(loader, copyTail(image, appended?.entry));
  const { from, base, carry } = taken;
  await segment.store(openingBytes(carry, { from, base }, backend.sha256));
  await segment.removeOthers(new Set(base.map(([generation]) => generation)));
  await removeLeftovers(backend.disk, folder, segment.generation, image.dropped !== undefined).catch(() => {});
  const last = appended?.entry ?? (image.newest && scan.lastEntry(image.newest, image.newest.carried));
  const tornTail = tornTailOf(image, appended?.torn);
  const summary = lastSummaryOf(image, scan, folder.agentId);
  return { end: endOf(image, last), ...(summary && { summary }), ...(tornTail && { tornTail }) };
}

function lastSummaryOf({ parts }: LoadedLog, scan: SegmentScan, agentId: string): AgentSummary | undefined {
  for (const part of [...parts].reverse()) {
    const found = lastWithSummary(scan, part);
    if (found) return summaryIn(agentId, found);
  }
  return undefined;
}

function endOf({ from, dropped }: LoadedLog, last: { readonly entry: ChainLink } | undefined): ChainLink {
  if (last === undefined || dropped !== undefined) return { position: from, checksum: "" };
  const { position, checksum } = last.entry;
  return { position, checksum };
}

async function carrySegments(loader: LogLoader, listed: CopiedTail): Promise<CopiedTail> {
  let taken = listed;
  for (const [generation, length] of [...segmentsToCarry(listed)].reverse()) {
    const segment = await loader.segment(generation);
    if (segment === undefined || segment.bytes.length < length) return taken;
    taken = carryWhole(taken, segmentParts(segment, length));
  }
  return taken;
}

/** Releases the segment. After a failed write or sync, writes no more bytes to it. */
async function giveBack({ sha256 }: FileBackend, segment: OwnedSegment, error: unknown): Promise<void> {
  if (!(error instanceof StorageError))
    await segment.writeUnsynced(Buffer.from(encodeControl("closed", {}, sha256))).catch(() => {});
  await segment.close().catch(() => {});
}
