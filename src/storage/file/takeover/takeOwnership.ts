import type { ChainLink } from "../../../checkpoint/format/EntryChain.ts";
import { AgentBusyError } from "../../../errors/storage/AgentBusyError.ts";
import { OwnershipLostError } from "../../../errors/storage/OwnershipLostError.ts";
import { StorageError } from "../../../errors/storage/StorageError.ts";
import type { LogOwner, TornTail } from "../../RecordLog.ts";
import { type FileBackend, newClaim } from "../owner/FileBackend.ts";
import { type OwnedSegment, publishSegment } from "../owner/OwnedSegment.ts";
import { type AgentFolder, assertNoLinks, ensureAgentFolder, removeLeftovers } from "../layout/AgentFolder.ts";
import { lineNumberAt } from "../layout/Segment.ts";
import { type LastAppended, SegmentScan } from "../layout/SegmentScan.ts";
import { type Claim, encodeControl, openingBytes } from "../layout/controlLine.ts";
import { releaseGeneration } from "../owner/OwnerLiveness.ts";
import { listSegments, type LoadedLog, LogLoader, partsOf } from "../read/LogLoader.ts";
import { carryWhole, copyTail, type CopiedTail, segmentsToCarry } from "./copyTail.ts";

/** How often the highest segment is judged again because another owner came first. */
const maxAttempts = 8;

/** A log just taken: the segment to write, its claim, and where the log ends. */
export interface Taken {
  readonly segment: OwnedSegment;
  readonly claim: Claim;
  readonly end: ChainLink;
  /** What a crash left of the owner before; absent: nothing. */
  readonly tornTail?: TornTail;
}

/** Links the segment after the highest one, and only then reads what it follows. Rejects with `AgentBusyError`. */
export async function takeOwnership(backend: FileBackend, folder: AgentFolder, owner: LogOwner): Promise<Taken> {
  let highest = await highestGeneration(backend, folder);
  const missing = await assertNoLinks(backend.disk, [folder.temporary, folder.owners, folder.blobs]);
  // Copies of a folder often leave empty ones out, and cleaners remove them.
  if (highest === 0 || missing.length > 0) await ensureAgentFolder(backend.disk, folder);
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    await assertFree(backend, folder, highest);
    const taken = await tryNext(backend, folder, owner, highest + 1);
    if (taken !== undefined) return taken;
    highest = await highestGeneration(backend, folder);
  }
  await assertFree(backend, folder, highest);
  throw new AgentBusyError(folder.agentId, { ...owner, generation: highest }, backend.leaseMs);
}

async function highestGeneration(backend: FileBackend, folder: AgentFolder): Promise<number> {
  return (await listSegments(backend, folder))[0] ?? 0;
}

async function assertFree({ judge, identity }: FileBackend, folder: AgentFolder, generation: number): Promise<void> {
  const judgement = generation === 0 ? undefined : await judge.judge(folder, generation);
  if (judgement?.state !== "alive") return;
  const { host, processId, nonce } = judgement.claim ?? { ...identity, nonce: "" };
  throw new AgentBusyError(folder.agentId, { host, processId, nonce, generation }, judgement.retryAfterMs);
}

async function tryNext(
  backend: FileBackend,
  folder: AgentFolder,
  owner: LogOwner,
  generation: number,
): Promise<Taken | undefined> {
  const claim = newClaim(backend, folder.agentId, generation, owner.nonce);
  const segment = await publishSegment(
    backend,
    folder,
    claim,
    Buffer.from(encodeControl("claim", claim, backend.sha256)),
  );
  if (segment === undefined) return undefined;
  try {
    const opened = await openSegment(backend, folder, segment);
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
): Promise<Pick<Taken, "end" | "tornTail">> {
  const loader = new LogLoader(folder, backend.disk, backend.sha256);
  const image = await loader.load({ below: segment.generation });
  const scan = new SegmentScan(folder.agentId, backend.sha256);
  const appended = image.newest && scan.lastAppended(image.newest);
  const taken = await carrySegments(loader, copyTail(image, appended?.entry));
  const { from, base, carry } = taken;
  await segment.store(openingBytes(carry, { from, base }, backend.sha256));
  await segment.removeOthers(new Set(base.map(([generation]) => generation)));
  await removeLeftovers(backend.disk, folder, segment.generation, image.dropped !== undefined).catch(() => {});
  const last = appended?.entry ?? (image.newest && scan.lastEntry(image.newest, image.newest.carried));
  const tornTail = tornTailOf(image, appended);
  return { end: endOf(image, last), ...(tornTail && { tornTail }) };
}

function tornTailOf({ newest }: LoadedLog, appended: LastAppended | undefined): TornTail | undefined {
  const { torn } = appended ?? {};
  if (newest === undefined || torn === undefined) return undefined;
  return { file: newest.path, line: lineNumberAt(newest.bytes, torn.start), bytes: torn.end - torn.start };
}

function endOf({ from, dropped }: LoadedLog, last: { readonly entry: ChainLink } | undefined): ChainLink {
  return last === undefined || dropped !== undefined ? { position: from, checksum: "" } : last.entry;
}

async function carrySegments(loader: LogLoader, listed: CopiedTail): Promise<CopiedTail> {
  let taken = listed;
  for (const [generation, length] of [...segmentsToCarry(listed)].reverse()) {
    const segment = await loader.segment(generation);
    if (segment === undefined || segment.bytes.length < length) return taken;
    taken = carryWhole(taken, partsOf(segment, length));
  }
  return taken;
}

/** After a failed write or sync nothing more is written. */
async function giveBack({ sha256 }: FileBackend, segment: OwnedSegment, error: unknown): Promise<void> {
  if (!(error instanceof StorageError))
    await segment.writeUnsynced(Buffer.from(encodeControl("closed", {}, sha256))).catch(() => {});
  await segment.close().catch(() => {});
}
