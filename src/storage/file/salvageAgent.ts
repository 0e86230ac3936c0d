import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import { addNeededBlobs } from "../../checkpoint/pruning/neededContents.ts";
import { liveEntries } from "../../checkpoint/pruning/liveEntries.ts";
import { type LogRecord, type PrunedGap, prunedGapsOf } from "../../checkpoint/records/Entry.ts";
import { lastCheckpointOf } from "../readEntries.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { InvalidInputError, type InputProblem } from "../../errors/agentErrors.ts";
import { AlreadyExistsError } from "../../errors/storageErrors.ts";
import { CorruptBlobError, CorruptLogError } from "../../errors/storedDataErrors.ts";
import type { BlobStore } from "../BlobStore.ts";
import type { AgentSummary } from "../RecordLog.ts";
import { parseBlobReference } from "../blobs.ts";
import { type FileBackend, newClaim } from "./owner/FileBackend.ts";
import { type AgentFolder, assertNoLinks, ensureAgentFolder, segmentGenerations } from "./layout/AgentFolder.ts";
import { type FoundEntry, SegmentScan } from "./layout/SegmentScan.ts";
import { parseSegment, encodeControl, wholeSegment } from "./layout/Segment.ts";
import { publishSegment } from "./owner/OwnedSegment.ts";
import { listSegments } from "./read/listSegments.ts";
import { basename } from "node:path";

/** The result of a salvage. */
export interface SalvageReport {
  readonly agentId: string;
  /** The number of appends in the copy. With 0, no intact append was found and the target is unchanged. */
  readonly appends: number;
  /** The last position in the copy. */
  readonly lastPosition: number;
  /** The last checkpoint in the copy. Omitted if the copy has no checkpoint. */
  readonly lastCheckpointId?: string;
  /** The positions of intact appends that were skipped because an earlier append is damaged. */
  readonly unreachable: readonly number[];
  /** References in the copy to blobs that are missing or damaged. The values of these blobs cannot be read. */
  readonly lostBlobs: readonly string[];
}

export interface SalvageSide {
  readonly backend: FileBackend;
  readonly folder: AgentFolder;
  readonly blobs: BlobStore;
}

interface FoundLine extends FoundEntry {
  readonly bytes: Buffer;
}

/** Copies the intact part of a log to another directory, byte for byte. The damaged log is only read. */
export async function salvageAgent(source: SalvageSide, target: SalvageSide): Promise<SalvageReport> {
  const { agentId } = source.folder;
  // An earlier salvage that ended early possibly left blobs.
  if ((await listSegments(target.backend, target.folder, true)).generations.length > 0)
    throw new AlreadyExistsError("agent_exists", agentId);
  const { lines, highest } = await findLines(source);
  const { from, appends, unreachable } = intactChain(lines);
  const report = {
    agentId,
    appends: appends.length,
    lastPosition: appends.at(-1)?.entry.position ?? from,
    unreachable,
  };
  if (appends.length === 0) return { ...report, lostBlobs: [] };
  await ensureAgentFolder(target.backend.disk, target.folder);
  const lostBlobs = await copyBlobs(source, target, appends);
  await writeSegment(target, highest + 1, appends, from);
  await markStatus(target, appends);
  const lastCheckpointId = liveEntries(appends.map(({ entry }) => entry))
    .flatMap((entry) => lastCheckpointOf(entry) ?? [])
    .at(-1);
  return withoutUndefined({ ...report, lastCheckpointId, lostBlobs });
}

async function markStatus({ backend, folder }: SalvageSide, appends: readonly FoundLine[]): Promise<void> {
  const { entry, summary } = appends.findLast((append) => append.summary !== undefined) ?? {};
  if (!entry || !summary) return;
  const listed = { ...(summary as AgentSummary), agentId: folder.agentId, position: entry.position };
  await backend.index.mark(basename(folder.path), { summary: listed, generation: 0 });
}

/** Returns every intact append in the files of an agent once. Ignores appends from before a deletion. */
async function findLines({
  backend: { disk, sha256 },
  folder,
}: SalvageSide): Promise<{ readonly lines: readonly FoundLine[]; readonly highest: number }> {
  await assertNoLinks(disk, [folder.tasks, folder.path, folder.checkpoints]);
  const scan = new SegmentScan(folder.agentId, sha256);
  const generations = segmentGenerations((await disk.readdir(folder.checkpoints)) ?? []);
  if (generations.length === 0) throw new InvalidInputError("salvage", [unknownAgent(folder.agentId)]);
  const lines = new Map<string, FoundLine>();
  for (const generation of generations) {
    const path = folder.segment(generation);
    const bytes = (await disk.readFile(path)) ?? Buffer.alloc(0);
    refuseNewerFormat(() => parseSegment(folder.agentId, generation, path, bytes, sha256));
    for (const found of scan.foundIn(bytes, { start: 0, end: bytes.length }))
      lines.set(found.entry.checksum, { ...found, bytes });
    if (scan.isDropped(bytes)) break;
  }
  return { lines: [...lines.values()], highest: generations[0] ?? 0 };
}

function unknownAgent(agentId: string): InputProblem {
  return {
    path: "agentId",
    expected: `expected the id of an agent in this storage, found the unknown id ${JSON.stringify(agentId)}`,
  };
}

/** Ignores a damaged claim, but throws for a segment of a newer format. */
function refuseNewerFormat(parse: () => unknown): void {
  try {
    parse();
  } catch (error) {
    if (!(error instanceof CorruptLogError)) throw error;
  }
}

async function copyBlobs(source: SalvageSide, target: SalvageSide, appends: readonly FoundLine[]): Promise<string[]> {
  const needed = new Map<string, number>();
  for (const { entry } of appends) for (const record of entry.records) addIfSound(record, needed);
  const lost: string[] = [];
  for (const reference of needed.keys()) {
    const bytes = await intactBlob(source, reference);
    // Equal content of the same generation has the same reference.
    const { generation = 1, encoding } = parseBlobReference(reference) ?? {};
    if (bytes === undefined) lost.push(reference);
    else await target.blobs.put(target.folder.agentId, generation, bytes, encoding);
  }
  for (const reference of new Set(appends.flatMap(({ entry }) => entry.records.flatMap(namesOfEncrypted)))) {
    const bytes = await source.blobs.getNamed?.(source.folder.agentId, reference);
    if (bytes === undefined) lost.push(reference);
    else await target.blobs.putNamed?.(target.folder.agentId, reference, bytes);
  }
  return lost;
}

/** Returns the blobs that an encrypted append names, whose references lack the hash of the stored bytes. */
function namesOfEncrypted({ kind, blobs }: LogRecord & { readonly blobs?: unknown }): readonly string[] {
  const names = kind === "encrypted" && Array.isArray(blobs) ? (blobs as readonly unknown[]) : [];
  return names.filter((name): name is string => typeof name === "string");
}

/** Skips the blobs of unreadable records, because a valid checksum does not guarantee valid fields. */
function addIfSound(record: LogRecord, needed: Map<string, number>): void {
  try {
    addNeededBlobs(record, needed);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}

async function intactBlob({ blobs, folder }: SalvageSide, reference: string): Promise<Uint8Array | undefined> {
  try {
    return await blobs.get(folder.agentId, reference);
  } catch (error) {
    if (error instanceof CorruptBlobError) return undefined;
    throw error;
  }
}

/** Writes the complete segment under its final name and releases the log. */
async function writeSegment(
  { backend, folder }: SalvageSide,
  generation: number,
  appends: readonly FoundLine[],
  from: number,
): Promise<void> {
  const claim = newClaim(backend, folder.agentId, generation, crypto.randomUUID());
  const lines = appends.flatMap(({ bytes, start, end }) => [bytes.subarray(start, end), Buffer.from("\n")]);
  const { position, checksum } = appends.at(-1)?.entry ?? {};
  const end = withoutUndefined({ position, checksum });
  const closed = Buffer.from(encodeControl("closed", end, backend.sha256));
  const content = Buffer.concat([wholeSegment(claim, lines, from, backend.sha256), closed]);
  const segment = await publishSegment(backend, folder, claim, content);
  if (segment === undefined) throw new AlreadyExistsError("agent_exists", folder.agentId);
  await segment.close();
}

/** The connected appends from the start of a damaged log, and the positions of the other intact appends. */
interface IntactChain<Found> {
  readonly from: number;
  readonly appends: readonly Found[];
  /** The sorted positions of later intact appends that are not connected to the start. */
  readonly unreachable: readonly number[];
}

/**
 * Connects appends from all files of an agent. If two appends follow the same append, the append of the later owner
 * wins. That owner took over at this point, so later appends of the earlier owner were never acknowledged.
 */
export function intactChain<Found extends Pick<FoundEntry, "entry">>(found: readonly Found[]): IntactChain<Found> {
  const gaps = found.flatMap(({ entry }) => prunedGapsOf(entry.records));
  const gapAt = new Map(
    gaps.filter(({ first, last }) => last >= first).map((gap) => [place(gap.first, gap.before), gap]),
  );
  const following = new Map<string, Found>();
  for (const append of [...found].sort((a, b) => a.entry.generation - b.entry.generation))
    following.set(place(append.entry.position, append.entry.prev), append);
  const from = startOf(found, gaps);
  const appends: Found[] = [];
  let end: ChainLink | undefined = { position: from, checksum: "" };
  let last = from;
  while (end !== undefined) {
    last = end.position;
    const next = following.get(place(end.position + 1, end.checksum));
    if (next !== undefined) appends.push(next);
    const gap = gapAt.get(place(end.position + 1, end.checksum));
    end = next?.entry ?? (gap && { position: gap.last, checksum: gap.after });
  }
  const after = new Set(found.map(({ entry }) => entry.position).filter((position) => position > last));
  return { from, appends, unreachable: [...after].sort((a, b) => a - b) };
}

/** Returns the start position. If an agent is deleted and made again, its log starts at a higher position. */
function startOf(found: readonly Pick<FoundEntry, "entry">[], gaps: readonly PrunedGap[]): number {
  const firsts = found.filter(({ entry }) => entry.prev === "").map(({ entry }) => entry);
  const [first] = firsts.sort((a, b) => b.generation - a.generation);
  return (first?.position ?? gaps.find(({ before }) => before === "")?.first ?? 1) - 1;
}

function place(position: number, prev: string): string {
  return `${position} ${prev}`;
}
