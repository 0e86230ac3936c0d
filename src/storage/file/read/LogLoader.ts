import { type ChainLink, EntryChain } from "../../../checkpoint/format/EntryChain.ts";
import { prunedGapsOf, type TornTail } from "../../../checkpoint/records/Entry.ts";
import { CorruptLogError } from "../../../errors/storedDataErrors.ts";
import type { FileBackend } from "../owner/FileBackend.ts";
import { type AgentFolder, segmentGenerations } from "../layout/AgentFolder.ts";
import {
  lineNumberAt,
  type LineRange,
  linesBackwards,
  linesIn,
  parseSegment,
  type Segment,
  lineBreak,
  openMark,
  type ControlLines,
  decodeControl,
  type Open,
} from "../layout/Segment.ts";
import { SegmentScan } from "../layout/SegmentScan.ts";
import { type ListedSegments, listSegments } from "./listSegments.ts";
import { linkOf } from "../../../checkpoint/format/entryCodec.ts";
import type { Disk } from "../../../nodejs/Disk.ts";

const maxListings = 16;

/** The dependencies for reading a log. `identity` is the identity of the reading process. */
export type Reading = Pick<FileBackend, "disk" | "sha256" | "identity">;

interface LoadOptions {
  /** For a new owner: the earlier listed segments below its own segment. The log must contain the known end. */
  readonly below?: { readonly generation: number; readonly listed: ListedSegments };
  /** For a reader in the owner's process, which has checked the directories. */
  readonly own?: OwnLog | undefined;
  /** The newest segment, if it was read before and has not changed. */
  readonly newest?: Segment | undefined;
  /** Called with each part from newest to oldest. Older parts are read while it returns `true`. Defaults to never. */
  readonly needsOlder?: (part: LogPart) => boolean;
  /** The position after which lines of the newest segment are required. Defaults to all. */
  readonly after?: number;
  /** Reads entries up to this position, and ignores missing entries after it. Defaults to the end. */
  readonly upTo?: number;
}

/** A log as its owner knows it. */
export interface OwnLog {
  readonly end: ChainLink;
  /** The newest segment, as long as the owner has appended nothing and cannot have been replaced. */
  readonly opened: Segment | undefined;
}

/**
 * Finds the segments of a log. An owner may copy a segment into a newer segment and remove it at any time. So if a
 * segment is missing, the reader lists the directory again.
 */
export class LogLoader {
  readonly #folder: AgentFolder;
  readonly #reading: Reading;
  readonly #scan: SegmentScan;

  constructor(folder: AgentFolder, reading: Reading) {
    this.#folder = folder;
    this.#reading = reading;
    this.#scan = new SegmentScan(folder.agentId, reading.sha256, reading.identity.bootId);
  }

  async load(options: LoadOptions = {}): Promise<LoadedLog> {
    let missing = 0;
    for (let listing = 0; listing < maxListings; listing++) {
      const image = await this.#attempt(await this.#listed(options, listing === 0), options);
      if (typeof image !== "number") return image;
      missing = image;
    }
    throw new CorruptLogError(this.#folder.agentId, { file: this.#folder.segment(missing) }, "the segment is missing");
  }

  async segment(generation: number, after = 0): Promise<Segment | undefined> {
    const { disk, sha256 } = this.#reading;
    const path = this.#folder.segment(generation);
    const cut = after > 0 ? await cutSegment(disk, path, after) : undefined;
    const bytes = cut ?? (await disk.readFile(path));
    const segment = bytes && parseSegment(this.#folder.agentId, generation, path, bytes, sha256);
    return segment && cut ? { ...segment, cut: true } : segment;
  }

  async #attempt({ generations, known }: Listing, options: LoadOptions): Promise<LoadedLog | number> {
    const { needsOlder = () => false, upTo = Number.POSITIVE_INFINITY } = options;
    const voids: Segment[] = [];
    for (const generation of generations) {
      const segment = await this.#known(generation, options);
      if (segment === undefined) return generation;
      if (segment.open !== undefined) return this.#imageOf(segment, voids, known, { needsOlder, upTo });
      voids.push(segment);
    }
    const damaged = this.#damagedIn(voids, 0, 0);
    if (damaged) return this.#beforeDamage(damaged, undefined, upTo);
    const [highest] = voids;
    const end = { position: 0, checksum: "" };
    if (highest !== undefined && known !== undefined && known.position > 0) throw this.#tooShort(highest, end, known);
    return { from: 0, newest: undefined, dropped: undefined, parts: [], complete: true, torn: tornClaim(voids) };
  }

  async #known(generation: number, { after, own, newest = own?.opened }: LoadOptions): Promise<Segment | undefined> {
    return newest?.generation === generation ? newest : this.segment(generation, after);
  }

  /** Lists the segments. Reads the known end before the log, because the log only grows. */
  async #listed(options: LoadOptions, isFirst: boolean): Promise<Listing> {
    const given = givenListing(options);
    if (given === undefined) return listSegments(this.#reading, this.#folder);
    const { generations, known } = given;
    if (isFirst && generations) return { generations, known };
    const names = (await this.#reading.disk.readdir(this.#folder.checkpoints)) ?? [];
    const end = options.below?.generation ?? Number.POSITIVE_INFINITY;
    return { generations: segmentGenerations(names).filter((generation) => generation < end), known };
  }

  async #imageOf(
    newest: Segment,
    voids: readonly Segment[],
    known: ChainLink | undefined,
    { needsOlder, upTo }: Required<Pick<LoadOptions, "needsOlder" | "upTo">>,
  ): Promise<LoadedLog | number> {
    const { from, base } = newest.open ?? { from: 0, base: [] };
    const parts = segmentParts(newest);
    const torn = tornClaim(voids);
    const dropped = this.#ending(newest, "dropped")?.position;
    const end = dropped === undefined ? this.#endOf(parts, from) : { position: dropped, checksum: "" };
    const damaged = this.#damagedIn(voids, newest.generation, end.position);
    if (damaged) return this.#beforeDamage(damaged, newest, upTo);
    this.#assertWhole(newest, end, known, upTo);
    if (dropped !== undefined) return { from: dropped, newest, dropped, parts: [], complete: true, torn };
    let needed = [...parts].reverse().every(needsOlder);
    for (const [generation, length] of needed ? [...base].reverse() : []) {
      const older = await this.#listedParts(generation, length);
      if (older === undefined) return generation;
      parts.unshift(...older);
      needed = older.reverse().every(needsOlder);
      if (!needed) return { from, newest, dropped, parts, complete: generation === base[0]?.[0], torn };
    }
    return { from, newest, dropped, parts, complete: needed || base.length === 0, torn };
  }

  async #listedParts(generation: number, length: number): Promise<LogPart[] | undefined> {
    const segment = await this.segment(generation);
    if (segment && segment.bytes.length < length)
      throw this.#scan.corrupt(
        segment,
        segment.bytes.length,
        `the segment is shorter than its recorded ${length} bytes`,
      );
    return segment && segmentParts(segment, length);
  }

  /** Returns the end of the log, in the newest segment: each new owner copies the last line into its segment. */
  #endOf(parts: readonly LogPart[], from: number): ChainLink {
    const last = [...parts].reverse().map((part) => this.#scan.lastLink(part.segment, part));
    return last.find((found) => found !== undefined) ?? { position: from, checksum: "" };
  }

  /** Returns the content of a segment's last line if the line has this kind. `undefined` otherwise. */
  #ending<Kind extends "closed" | "dropped">({ bytes, appended }: Segment, kind: Kind): ControlLines[Kind] | undefined {
    const [line] = linesBackwards(bytes, appended);
    if (line?.whole !== true) return undefined;
    return decodeControl(kind, bytes.subarray(line.start, line.end), this.#reading.sha256);
  }

  /**
   * Throws if the end of the log up to `upTo` is missing, so that no truncated log looks complete. The last owner
   * records the end when it closes the log, and `state.json` at the last status change.
   */
  #assertWhole(newest: Segment, end: ChainLink, known: ChainLink | undefined, upTo: number): void {
    const isAskedFor = (stored: ChainLink): boolean => stored.position <= end.position || upTo > end.position;
    const last = this.#closedAt(newest);
    if (last && !isSameLink(end, last) && isAskedFor(last)) throw this.#tooShort(newest, end, last);
    // An empty log has no end to miss. A log that is received after a deletion may have lower positions.
    if (!known?.checksum || known.position < end.position || !isAskedFor(known)) return;
    // Checksums restart after a deletion.
    if (known.position > end.position || (end.checksum !== "" && !isSameLink(end, known)))
      throw this.#tooShort(newest, end, known);
  }

  /** Returns the end at which an owner closed a segment. `undefined` if the owner did not record it. */
  #closedAt(segment: Segment): ChainLink | undefined {
    const { position, checksum = "" } = this.#ending(segment, "closed") ?? {};
    return position === undefined ? undefined : { position, checksum };
  }

  #tooShort(segment: Segment, end: ChainLink, known: ChainLink): CorruptLogError {
    const found = `the log ends at position ${end.position}, but position ${known.position} was stored with a different checksum`;
    const missing = `the log ends at position ${end.position}, but it was stored up to position ${known.position}`;
    const { bytes, carried, appended } = segment;
    const last = this.#scan.lastEntry(segment, { start: carried.start, end: bytes.length });
    const at = Math.max(appended.start, last ? last.end + 1 : 0);
    return this.#scan.corrupt(segment, at, known.position === end.position ? found : missing, end.position);
  }

  /**
   * Returns a segment whose `open` is damaged. Each other segment without `open` is an abandoned take-over. Its first
   * lines were not synced, so after a power loss any part of them may be left. These lines are copies of lines in older
   * segments. Only the last of these lines may be lost in the older segment. No owner appended to such a segment or
   * removed older data. If there is any other content, an `open` existed and is damaged.
   */
  #damagedIn(voids: readonly Segment[], before: number, end: number): Segment | undefined {
    for (const segment of voids) {
      const found = this.#scan.foundIn(segment.bytes, segment.carried);
      if (found.some(({ entry: { position, generation } }) => position > end + 1 || generation === segment.generation))
        return segment;
    }
    // An owner that wrote after its claim synced the directory, which then contained all lower numbers.
    const at = voids.findIndex(({ carried }) => carried.end > carried.start);
    return at >= 0 && !isUnbroken(before, voids.slice(at)) ? voids[at] : undefined;
  }

  /**
   * Returns the log up to the damage before the `open` of a segment, if no more is requested. `older` is the highest
   * valid segment below.
   *
   * @throws CorruptLogError
   */
  async #beforeDamage(segment: Segment, older: Segment | undefined, upTo: number): Promise<LoadedLog | number> {
    const { from, base } = segment.refuted?.open ?? this.#likelyOpen(segment, older);
    const parts: LogPart[] = [];
    for (const [generation, length] of base) {
      const listed = await this.#listedParts(generation, length);
      if (listed === undefined) return generation;
      parts.push(...listed);
    }
    const damage = this.#firstDamage(segment, this.#endOf(parts, from));
    if (upTo > (damage.lastPosition ?? 0)) throw damage;
    parts.push(...segmentParts(segment));
    return { from, newest: segment, dropped: undefined, parts, complete: true, torn: undefined };
  }

  /** Returns what an unreadable `open` most likely contained: the log up to the first copied line. */
  #likelyOpen(segment: Segment, older: Segment | undefined): Pick<Open, "from" | "base"> {
    const [first] = this.#scan.foundIn(segment.bytes, segment.carried);
    if (older?.open === undefined || first === undefined || first.entry.prev === "")
      return { from: first?.entry.prev === "" ? first.entry.position - 1 : 0, base: [] };
    const { from, base } = older.open;
    const copied = this.#scan
      .foundIn(older.bytes, { start: older.carried.start, end: older.bytes.length })
      .find(({ entry }) => entry.position >= first.entry.position);
    return { from, base: [...base, [older.generation, copied?.start ?? older.bytes.length]] };
  }

  /** Locates the first damage between the claim and the first append. */
  #firstDamage(segment: Segment, before: ChainLink): CorruptLogError {
    const { bytes, carried, refuted } = segment;
    const gaps = this.#scan.foundIn(bytes, carried).flatMap(({ entry }) => prunedGapsOf(entry.records));
    const chain = new EntryChain(gaps, before);
    let last = before.position;
    const corrupt = (at: number, found: string) => this.#scan.corrupt(segment, at, found, last || undefined);
    for (const line of linesIn(bytes, { start: carried.start, end: refuted?.at ?? carried.end })) {
      const decoded = this.#scan.entryAt(segment, line.start);
      if (!decoded.ok) return corrupt(line.start, `a line is not readable (${decoded.defect})`);
      const { entry } = decoded;
      if (entry.generation === segment.generation)
        return corrupt(line.start, "the line that validates the segment is missing before it");
      const defect = chain.accept(entry);
      if (defect !== undefined) return corrupt(line.start, defect);
      last = entry.position;
    }
    return corrupt(refuted?.at ?? bytes.length, "the line does not match the lines before it");
  }
}

function isUnbroken(before: number, segments: readonly Segment[]): boolean {
  let last = before;
  for (const { generation, claim } of segments.toReversed()) {
    if (generation !== last + 1 && !(claim?.after !== undefined && claim.after <= last)) return false;
    last = generation;
  }
  return true;
}

type Listing = Pick<ListedSegments, "generations" | "known">;

/** Returns the segments that an owner knows without a listing. Some of them may have been removed meanwhile. */
function givenListing({
  below,
  own,
}: LoadOptions):
  | { readonly generations?: readonly number[] | undefined; readonly known?: ChainLink | undefined }
  | undefined {
  if (below) return below.listed;
  return own && { generations: own.opened && [own.opened.generation], known: own.end };
}

export interface LogPart extends LineRange {
  readonly segment: Segment;
}

/** A consistent image of a log. */
export interface LoadedLog {
  readonly from: number;
  /** The highest valid segment. `undefined` for an agent without a log. */
  readonly newest: Segment | undefined;
  /** The position at which the agent was deleted. `undefined` if the agent was not deleted, or was created again. */
  readonly dropped: number | undefined;
  /** The valid segments, oldest first. Starts with the segments in `newest.open.base` and ends with the newest. */
  readonly parts: readonly LogPart[];
  /** Whether the image contains all parts. `false` if older parts were not requested. */
  readonly complete: boolean;
  /** An incomplete first line of a segment, from a crash without hard links, or from damage. */
  readonly torn: TornTail | undefined;
}

/** Returns the copied and then the appended lines in the first `length` bytes of a segment. */
export function segmentParts(segment: Segment, length = segment.bytes.length): LogPart[] {
  const { carried, appended } = segment;
  const ranges = [carried, { start: appended.start, end: Math.min(length, appended.end) }];
  return ranges.filter(({ start, end }) => end > start).map((range) => ({ ...range, segment }));
}

function isSameLink(one: ChainLink, other: ChainLink): boolean {
  return one.position === other.position && one.checksum === other.checksum;
}

function tornClaim(voids: readonly Segment[]): TornTail | undefined {
  const torn = voids.find(({ claim }) => claim === undefined);
  return torn && { file: torn.path, line: 1, bytes: torn.bytes.length };
}

/** Returns the remains of an incomplete append at the end of a log. `undefined` without remains. */
export function tornTailOf({ newest, torn }: LoadedLog, cut: LineRange | undefined): TornTail | undefined {
  if (newest === undefined || cut === undefined) return torn;
  return { file: newest.path, line: lineNumberAt(newest.bytes, cut.start), bytes: cut.end - cut.start };
}

/** The number of bytes to read first from each end of a file. It is doubled until enough has been read. */
const chunkBytes = 64 * 1024;

/**
 * Reads a segment up to `open`, and its last lines from position `after` or earlier on, without verification.
 * `undefined` if this saves little or the file has another format.
 */
async function cutSegment(disk: Disk, path: string, after: number): Promise<Buffer | undefined> {
  const { size = 0 } = (await disk.stat(path)) ?? {};
  const head = await headOf(disk, path, size);
  const tail = head && (await tailOf(disk, path, { from: head.length, size, after }));
  return head && tail && Buffer.concat([head, tail]);
}

async function headOf(disk: Disk, path: string, size: number): Promise<Buffer | undefined> {
  for (let length = chunkBytes; length <= size / 4; length *= 2) {
    const bytes = await disk.readFile(path, 0, length);
    const at = bytes?.indexOf(openMark) ?? -1;
    const end = at < 0 ? -1 : (bytes?.indexOf(lineBreak, at + 1) ?? -1);
    if (end >= 0) return bytes?.subarray(0, end + 1);
  }
  return undefined;
}

async function tailOf(
  disk: Disk,
  path: string,
  { from, size, after }: { readonly from: number; readonly size: number; readonly after: number },
): Promise<Buffer | undefined> {
  for (let length = chunkBytes; length <= size / 2; length *= 2) {
    const bytes = await disk.readFile(path, size - length, length);
    if (!bytes || size - length < from) return undefined;
    // The first line may be incomplete.
    const start = bytes.indexOf(lineBreak) + 1;
    const found = start === 0 ? undefined : lineUpTo(bytes, start, after);
    if (found !== undefined) return bytes.subarray(found);
  }
  return undefined;
}

function lineUpTo(bytes: Buffer, start: number, after: number): number | undefined {
  for (const line of linesBackwards(bytes, { start, end: bytes.length })) {
    const found = linkOf(bytes.subarray(line.start, line.end));
    if (found && found.position <= after) return line.start;
  }
  return undefined;
}
