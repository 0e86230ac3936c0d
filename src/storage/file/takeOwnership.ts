import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import { AgentBusyError, OwnershipLostError, StorageError } from "../../errors/storageErrors.ts";
import { CorruptLogError } from "../../errors/storedDataErrors.ts";
import type { TornTail } from "../../checkpoint/records/Entry.ts";
import type { AgentSummary, LogOwner } from "../RecordLog.ts";
import { parseBlobReference } from "../blobs.ts";
import { type FileBackend, newClaim } from "./owner/FileBackend.ts";
import type { Disk } from "../../nodejs/Disk.ts";
import type { StoredSummary } from "./layout/stateJson.ts";
import { type OwnedSegment, publishSegment } from "./owner/OwnedSegment.ts";
import {
  type AgentFolder,
  assertNoLinks,
  ensureAgentFolder,
  isOfEarlierOwner,
  removeFiles,
  segmentGenerations,
} from "./layout/AgentFolder.ts";
import { parseSegment, type Segment, type Claim, encodeControl, openingBytes } from "./layout/Segment.ts";
import { SegmentScan } from "./layout/SegmentScan.ts";
import { releaseGeneration } from "./owner/OwnerLiveness.ts";
import { type ListedSegments, listSegments } from "./read/listSegments.ts";
import { type LoadedLog, LogLoader, segmentParts, tornTailOf } from "./read/LogLoader.ts";
import { lastWithSummary, summaryIn } from "./read/LogReader.ts";
import { carryWhole, type CopiedTail, copyTail, segmentsToCarry } from "./copyTail.ts";
import { join } from "node:path";

const maxAttempts = 8;
/** How many owners of closed logs share one search for temporary files. */
const sweepEvery = 16;

export interface Held {
  readonly segment: OwnedSegment;
  readonly claim: Claim;
  readonly end: ChainLink;
}

/** A log that was just taken over. */
export interface Taken extends Held {
  /** The monotonic time before the claim was published. */
  readonly claimedAtMs: number;
  /** The segment of the new owner. */
  readonly opened: Segment;
  /** The last summary in the previous segment. `undefined` if only older segments can have a summary. */
  readonly summary?: AgentSummary;
  /** The content of `state.json` before the take-over. `undefined` if it was not readable. */
  readonly state?: StoredSummary | undefined;
  /** The remains of an incomplete append of the previous owner. `undefined` if the log ends with a complete append. */
  readonly tornTail?: TornTail;
  /** The reason why the log can only be dropped. */
  readonly damage?: CorruptLogError;
}

/** Publishes the segment after the highest one. @throws AgentBusyError if another owner is alive. */
export async function takeOwnership(backend: FileBackend, folder: AgentFolder, owner: LogOwner): Promise<Taken> {
  let listed = await listSegments(backend, folder);
  const others = listed.generations.length > 0 ? [folder.temporary, folder.owners, folder.blobs] : [];
  // Copy tools and cleanup tools often drop empty directories.
  if (others.length === 0 || (await assertNoLinks(backend.disk, others)).length > 0)
    await ensureAgentFolder(backend.disk, folder);
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const judgement = await assertFree(backend, folder, highestOf(listed), owner);
    const taken = await tryNext(backend, folder, owner, { listed, ...judgement });
    if (taken !== undefined) return taken;
    listed = await listSegments(backend, folder);
  }
  const highest = highestOf(listed);
  await assertFree(backend, folder, highest, owner);
  throw new AgentBusyError(folder.agentId, { ...owner, generation: highest }, backend.leaseMs);
}

function highestOf({ generations: [highest = 0] }: ListedSegments): number {
  return highest;
}

/** @throws AgentBusyError if another owner is alive. */
async function assertFree(
  backend: FileBackend,
  folder: AgentFolder,
  generation: number,
  { drops }: LogOwner,
): Promise<Omit<Previous, "listed">> {
  const { judge, identity } = backend;
  const judgement = generation === 0 ? undefined : await judge.judge(folder, generation, drops);
  if (judgement?.state !== "alive")
    return { isClosed: generation === 0 || judgement?.state === "free", bytes: judgement?.bytes };
  // The owner is unknown. If other files record a longer log, the log was truncated and waiting does not help.
  if (judgement.claim === undefined && !drops) await new LogLoader(folder, backend).load();
  const { host, processId, nonce } = judgement.claim ?? { ...identity, nonce: "" };
  throw new AgentBusyError(folder.agentId, { host, processId, nonce, generation }, judgement.retryAfterMs);
}

interface Previous {
  readonly listed: ListedSegments;
  /** Whether no owner can still write to the log, because the last owner closed it or there was no owner. */
  readonly isClosed: boolean;
  /** The last segment, if it is closed and small. */
  readonly bytes: Buffer | undefined;
}

/**
 * Publishes the next segment. A closed log does not change, so it is read first, and the claim and the `open` line are
 * published together. If the log is not closed, the claim is published first, which ends the previous ownership.
 */
async function tryNext(
  backend: FileBackend,
  folder: AgentFolder,
  owner: LogOwner,
  previous: Previous,
): Promise<Taken | undefined> {
  const { sha256, disk, clock } = backend;
  const { listed, isClosed } = previous;
  const generation = highestOf(listed) + 1;
  const claim = newClaim(backend, folder.agentId, generation, owner.nonce);
  const orDamage = <Read>(reading: Promise<Read>) => (owner.drops ? reading.catch(damagedOpening) : reading);
  const early = isClosed ? await orDamage(readClosed(backend, folder, generation, previous)) : undefined;
  if (early === "overtaken") return undefined;
  const claimedAtMs = clock.monotonic();
  const head = Buffer.from(encodeControl("claim", claim, sha256));
  const segment = await publishSegment(backend, folder, claim, early ? Buffer.concat([head, early.bytes]) : head);
  if (segment === undefined) return undefined;
  try {
    const opening = early ?? (await orDamage(readOpening(backend, folder, generation, previous)));
    const { bytes, base, dropped, ...opened } = opening;
    const generations = early ? await segment.check() : await segment.store(bytes);
    if (!opened.damage) {
      await segment.removeOthers(generations, new Set(base));
      await removeLeftovers(disk, folder, generation, { ...listed, dropped, isClosed }).catch(() => {});
    }
    backend.judge.forget(folder.agentId);
    const path = folder.segment(generation);
    const whole = parseSegment(folder.agentId, generation, path, Buffer.concat([head, bytes]), sha256);
    return { segment, claim, claimedAtMs, state: listed.state, opened: whole, ...opened };
  } catch (error) {
    releaseGeneration(folder.segment(generation), claim.nonce);
    await giveBack(backend, segment, error);
    if (error instanceof OwnershipLostError) return undefined;
    throw error;
  }
}

/** Returns the opening of a damaged log, which writes no bytes. */
function damagedOpening(error: unknown): Opening {
  if (!(error instanceof CorruptLogError)) throw error;
  const end = { position: error.lastPosition ?? 0, checksum: "" };
  return { bytes: Buffer.alloc(0), base: [], dropped: false, end, damage: error };
}

interface Opening extends Pick<Taken, "end" | "summary" | "tornTail" | "damage"> {
  readonly bytes: Buffer;
  /** The older segments that stay. */
  readonly base: readonly number[];
  readonly dropped: boolean;
}

/** Reads a log to which no owner writes. A faster new owner may remove segments, which looks like damage. */
async function readClosed(
  backend: FileBackend,
  folder: AgentFolder,
  generation: number,
  previous: Previous,
): Promise<Opening | "overtaken"> {
  try {
    return await readOpening(backend, folder, generation, previous);
  } catch (error) {
    const [highest = 0] = segmentGenerations((await backend.disk.readdir(folder.checkpoints)) ?? []);
    if (highest >= generation) return "overtaken";
    throw error;
  }
}

async function readOpening(
  backend: FileBackend,
  folder: AgentFolder,
  generation: number,
  { listed, bytes }: Previous,
): Promise<Opening> {
  const { sha256 } = backend;
  const loader = new LogLoader(folder, backend);
  const last = generation - 1;
  const newest = bytes && parseSegment(folder.agentId, last, folder.segment(last), bytes, sha256);
  const image = await loader.load({ below: { generation, listed }, newest });
  const scan = new SegmentScan(folder.agentId, sha256, backend.identity.bootId);
  const appended = image.newest && scan.lastAppended(image.newest);
  const { from, base, carry } = await carrySegments(loader, copyTail(image, appended?.entry), image.newest);
  const lastEntry = appended?.entry ?? (image.newest && scan.lastEntry(image.newest, image.newest.carried));
  const tornTail = tornTailOf(image, appended?.torn);
  const summary = lastSummaryOf(image, scan, folder.agentId);
  return {
    bytes: openingBytes(carry, { from, base }, sha256),
    base: base.map(([each]) => each),
    dropped: image.dropped !== undefined,
    end: endOf(image, lastEntry),
    ...(summary && { summary }),
    ...(tornTail && { tornTail }),
  };
}

/** Removes lease files, stop requests and temporary files of earlier owners, and blobs that a deletion left. */
async function removeLeftovers(
  disk: Disk,
  folder: AgentFolder,
  generation: number,
  found: { readonly owners: readonly string[]; readonly isClosed: boolean; readonly dropped: boolean },
): Promise<void> {
  const isEarlier = isOfEarlierOwner(generation);
  for (const name of found.owners.filter(isEarlier)) await disk.unlink(join(folder.owners, name));
  // An owner that closed the log left no temporary files. Others may have, which is rare.
  if (!found.isClosed || found.dropped || generation % sweepEvery === 0)
    await removeFiles(disk, folder.temporary, isEarlier);
  if (found.dropped)
    await removeFiles(
      disk,
      folder.blobs,
      (name) => (parseBlobReference(`blob://${name}`)?.generation ?? 0) < generation,
    );
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

async function carrySegments(loader: LogLoader, listed: CopiedTail, newest: Segment | undefined): Promise<CopiedTail> {
  let taken = listed;
  for (const [generation, length] of [...segmentsToCarry(listed)].reverse()) {
    const segment = newest?.generation === generation ? newest : await loader.segment(generation);
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
