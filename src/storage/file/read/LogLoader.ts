import type { ChainLink } from "../../../checkpoint/format/EntryChain.ts";
import { CorruptLogError } from "../../../errors/storage/CorruptLogError.ts";
import type { TornTail } from "../../../checkpoint/format/TornTail.ts";
import type { FileBackend } from "../owner/FileBackend.ts";
import { type AgentFolder, assertNoLinks, highestGeneration, segmentGenerations } from "../layout/AgentFolder.ts";
import { cutSegment } from "./cutSegment.ts";
import { lineNumberAt, type LineRange, linesBackwards, parseSegment, type Segment } from "../layout/Segment.ts";
import { SegmentScan } from "../layout/SegmentScan.ts";
import { type ControlLines, decodeControl } from "../layout/controlLine.ts";
import { decodeState } from "../layout/stateJson.ts";

/** How often a listing is taken again because owners change the folder while it is read. */
const maxListings = 16;

/** What reading a log needs. `identity` is of the process that reads. */
export type Reading = Pick<FileBackend, "disk" | "sha256" | "identity">;

/** What to read: how far back, and of an owner's own segment nothing. */
export interface LoadOptions {
  /** For an owner that has just come: only segments below its own count, and the log must hold what was known before. */
  readonly below?: { readonly generation: number; readonly known: ChainLink | undefined };
  /** Called with each part from the newest to the oldest; older ones are read while it returns true. Default: never. */
  readonly needsOlder?: (part: LogPart) => boolean;
  /** The position from which on lines are needed of the newest segment: what comes before may be left out. Default: all. */
  readonly after?: number;
  /** Only entries up to this position are read: what is missing after them is not reported. Default: to the end. */
  readonly upTo?: number;
}

/**
 * Finds the segments that are the log. An owner may carry segments over and remove them at any moment, so a segment that
 * is listed and not there only means that there is a newer one: the folder is listed again.
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
      const image = await this.#attempt(options);
      if (typeof image !== "number") return image;
      missing = image;
    }
    throw new CorruptLogError(this.#folder.agentId, { file: this.#folder.segment(missing) }, "the segment is missing");
  }

  /** One segment; `undefined` when it is not there. @param after what is needed of it: see {@link LoadOptions}. */
  async segment(generation: number, after = 0): Promise<Segment | undefined> {
    const { disk, sha256 } = this.#reading;
    const path = this.#folder.segment(generation);
    const cut = after > 0 ? await cutSegment(disk, path, after) : undefined;
    const bytes = cut ?? (await disk.readFile(path));
    const segment = bytes && parseSegment(this.#folder.agentId, generation, path, bytes, sha256);
    return segment && cut ? { ...segment, cut: true } : segment;
  }

  /** The image, or the generation of a segment that is missing. */
  async #attempt({
    below,
    needsOlder = () => false,
    after,
    upTo = Number.POSITIVE_INFINITY,
  }: LoadOptions): Promise<LoadedLog | number> {
    const voids: Segment[] = [];
    // What is known of the end is read before the log, which only grows.
    const { generations, known } = await this.#listed(below);
    for (const generation of generations) {
      const segment = await this.segment(generation, after);
      if (segment === undefined) return generation;
      if (segment.open !== undefined) return this.#imageOf(segment, voids, known, { needsOlder, upTo });
      voids.push(segment);
    }
    this.#assertVoid(voids, 0, 0);
    const [highest] = voids;
    const end = { position: 0, checksum: "" };
    if (highest !== undefined && known !== undefined && known.position > 0) throw this.#tooShort(highest, end, known);
    return { from: 0, newest: undefined, dropped: undefined, parts: [], complete: true, torn: tornClaim(voids) };
  }

  /** An owner has looked for what is missing before it made its segment. */
  async #listed(below: LoadOptions["below"]): Promise<ListedSegments> {
    if (below === undefined) return listSegments(this.#reading, this.#folder);
    const names = (await this.#reading.disk.readdir(this.#folder.checkpoints)) ?? [];
    const generations = segmentGenerations(names).filter((generation) => generation < below.generation);
    return { generations, known: below.known };
  }

  async #imageOf(
    newest: Segment,
    voids: readonly Segment[],
    known: ChainLink | undefined,
    { needsOlder, upTo }: Required<Pick<LoadOptions, "needsOlder" | "upTo">>,
  ): Promise<LoadedLog | number> {
    const { from, base } = newest.open ?? { from: 0, base: [] };
    const parts = partsOf(newest);
    const torn = tornClaim(voids);
    const dropped = this.#ending(newest, "dropped")?.position;
    const end = dropped === undefined ? this.#endOf(parts, from) : { position: dropped, checksum: "" };
    if (voids.length > 0) this.#assertVoid(voids, newest.generation, end.position);
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

  /** The parts of a segment that a newer one lists; `undefined` when the segment is gone. */
  async #listedParts(generation: number, length: number): Promise<LogPart[] | undefined> {
    const segment = await this.segment(generation);
    if (segment && segment.bytes.length < length)
      throw this.#scan.corrupt(segment, segment.bytes.length, `it is shorter than the ${length} bytes that count`);
    return segment && partsOf(segment, length);
  }

  /** The newest segment has the last line of the log: its owner copied it. */
  #endOf(parts: readonly LogPart[], from: number): ChainLink {
    const last = [...parts].reverse().map((part) => this.#scan.lastLink(part.segment, part));
    return last.find((found) => found !== undefined) ?? { position: from, checksum: "" };
  }

  /** The line that ends a segment, if it is one of this kind. Only the next owner's segment follows it. */
  #ending<Kind extends "closed" | "dropped">({ bytes, appended }: Segment, kind: Kind): ControlLines[Kind] | undefined {
    const [line] = linesBackwards(bytes, appended);
    if (line?.whole !== true) return undefined;
    return decodeControl(kind, bytes.subarray(line.start, line.end), this.#reading.sha256);
  }

  /**
   * A log whose end is gone reads like one that ended there. Its last owner says where it ended when it closed it, and
   * `state.json` how far it reached when its status changed last. What is missing after what is asked for is not reported.
   */
  #assertWhole(newest: Segment, end: ChainLink, known: ChainLink | undefined, upTo: number): void {
    const isAskedFor = (stored: ChainLink): boolean => stored.position <= end.position || upTo > end.position;
    const last = this.#closedAt(newest);
    if (last && !isSameLink(end, last) && isAskedFor(last)) throw this.#tooShort(newest, end, last);
    if (known === undefined || known.position < end.position || !isAskedFor(known)) return;
    // After a deletion the checksums begin anew.
    if (known.position > end.position || (end.checksum !== "" && !isSameLink(end, known)))
      throw this.#tooShort(newest, end, known);
  }

  /** Where an owner closed a segment; `undefined`: it did not, or did not say where. */
  #closedAt(segment: Segment): ChainLink | undefined {
    const { position, checksum = "" } = this.#ending(segment, "closed") ?? {};
    return position === undefined ? undefined : { position, checksum };
  }

  #tooShort(segment: Segment, end: ChainLink, known: ChainLink): CorruptLogError {
    const found = `the log ends at position ${end.position}, and position ${known.position} was stored with another checksum`;
    const missing = `the log ends at position ${end.position}, and it was stored up to position ${known.position}`;
    const at = segment.bytes.length;
    return this.#scan.corrupt(segment, at, known.position === end.position ? found : missing, end.position);
  }

  /**
   * Segments without `open` are attempts of owners. The first lines of one were not synced, so a loss of power may leave
   * any part of them: lines carried over, which are still where they came from, all but the last, which may have been
   * lost there. Nobody has appended to them or removed what was before. Anything else means that an `open` was there once
   * and is damaged.
   */
  #assertVoid(voids: readonly Segment[], before: number, end: number): void {
    for (const segment of voids) {
      const found = this.#scan.foundIn(segment.bytes, segment.carried);
      if (found.some(({ entry: { position, generation } }) => position > end + 1 || generation === segment.generation))
        throw this.#damagedOpen(segment);
    }
    // Whoever writes after its claim has synced the folder, where all numbers below its own were then.
    const at = voids.findIndex(({ carried }) => carried.end > carried.start);
    const written = voids[at];
    if (written !== undefined && !isUnbroken(before, voids.slice(at))) throw this.#damagedOpen(written);
  }

  #damagedOpen(segment: Segment): CorruptLogError {
    return this.#scan.corrupt(segment, segment.bytes.length, "the line that makes the segment count is damaged");
  }
}

/** Whether no number is left out from a generation to these segments, highest first, but where a claim says so. */
function isUnbroken(before: number, segments: readonly Segment[]): boolean {
  let last = before;
  for (const { generation, claim } of segments.toReversed()) {
    if (generation !== last + 1 && !(claim?.after !== undefined && claim.after <= last)) return false;
    last = generation;
  }
  return true;
}

/** A part of a log: some lines of one segment. */
export interface LogPart extends LineRange {
  readonly segment: Segment;
}

/** A log as its files say it is at one moment. */
export interface LoadedLog {
  /** The position before the first append. */
  readonly from: number;
  /** The highest segment that counts; `undefined` for an agent without a log. */
  readonly newest: Segment | undefined;
  /** The position at which the agent was deleted, when that is the last that happened to it. */
  readonly dropped: number | undefined;
  /** Segments that count, oldest first, those of `newest.open.base` and then the newest. */
  readonly parts: readonly LogPart[];
  /** False when parts before the first one were not asked for. */
  readonly complete: boolean;
  /** The first line of a segment that is cut off: its owner died where files cannot be linked, or the file is damaged. */
  readonly torn: TornTail | undefined;
}

/** The lines of a segment up to `length` bytes: those carried over, then those appended. */
export function partsOf(segment: Segment, length = segment.bytes.length): LogPart[] {
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

/** What a crash left after the last append of a log; `undefined`: nothing. */
export function tornTailOf({ newest, torn }: LoadedLog, cut: LineRange | undefined): TornTail | undefined {
  if (newest === undefined || cut === undefined) return torn;
  return { file: newest.path, line: lineNumberAt(newest.bytes, cut.start), bytes: cut.end - cut.start };
}

/** The segments of an agent by their names, and what other files say about them. */
export interface ListedSegments {
  /** Highest first; none for an agent never seen. */
  readonly generations: readonly number[];
  /** How far the log reached when its status changed last. */
  readonly known: ChainLink | undefined;
}

/**
 * The segments of an agent. What was removed from their end is
 * found, since the agent would silently be younger, or new: every other file of an agent is put there after the segment of
 * its generation has its name on the device, and a segment is removed only when a higher one has.
 *
 * @throws CorruptLogError when segments are gone that other files speak of.
 */
export async function listSegments(
  backend: Pick<FileBackend, "disk" | "sha256">,
  folder: AgentFolder,
): Promise<ListedSegments> {
  const { disk } = backend;
  await assertNoLinks(disk, [folder.tasks, folder.path, folder.checkpoints]);
  const list = async () => segmentGenerations((await disk.readdir(folder.checkpoints)) ?? []);
  const listed = await list();
  const [last = 0] = listed;
  if (last >= highestGeneration)
    throw new CorruptLogError(folder.agentId, { file: folder.segment(last) }, "no generation can follow it");
  const state = await readState(backend, folder);
  const highest = await knownGeneration(backend, folder, state?.generation, listed.length === 0);
  const known = state?.end;
  if (highest <= (listed[0] ?? 0)) return { generations: listed, known };
  // An owner may have come meanwhile.
  const again = await list();
  if (highest <= (again[0] ?? 0)) return { generations: again, known };
  const found = `it is missing, and no newer segment is there, while other files of the agent speak of it`;
  throw new CorruptLogError(folder.agentId, { file: folder.segment(highest) }, found);
}

/** The highest generation that other files speak of; 0 when there are none. */
async function knownGeneration(
  { disk }: Pick<FileBackend, "disk">,
  folder: AgentFolder,
  stated: number | undefined,
  withBlobs: boolean,
): Promise<number> {
  const owners = (await disk.readdir(folder.owners)) ?? [];
  const blobs = withBlobs ? ((await disk.readdir(folder.blobs)) ?? []) : [];
  const named = owners.map((name) => Number.parseInt(name, 10)).filter((generation) => generation > 0);
  return Math.max(stated ?? 0, ...named, blobs.length > 0 ? 1 : 0);
}

/** What `state.json` says of the log. A damaged one only says that there was an agent. */
async function readState(
  { disk, sha256 }: Pick<FileBackend, "disk" | "sha256">,
  folder: AgentFolder,
): Promise<{ readonly generation: number; readonly end?: ChainLink | undefined } | undefined> {
  const bytes = await disk.readFile(folder.state);
  if (bytes === undefined) return undefined;
  const state = decodeState(bytes.toString(), sha256);
  return state?.summary.agentId === folder.agentId ? state : { generation: 1 };
}
