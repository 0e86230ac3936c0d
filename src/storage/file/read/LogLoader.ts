import { CorruptLogError } from "../../../errors/storage/CorruptLogError.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import type { Disk } from "../../../node/Disk.ts";
import type { FileBackend } from "../owner/FileBackend.ts";
import { type AgentFolder, assertNoLinks, segmentGenerations } from "../layout/AgentFolder.ts";
import { type LineRange, linesBackwards, parseSegment, type Segment } from "../layout/Segment.ts";
import { SegmentScan } from "../layout/SegmentScan.ts";
import { decodeControl } from "../layout/controlLine.ts";
import { decodeState } from "../layout/stateJson.ts";

/** How often a listing is taken again because owners change the folder while it is read. */
const maxListings = 16;

/** What to read: how far back, and of an owner's own segment nothing. */
export interface LoadOptions {
  /** Only segments below this generation count. */
  readonly below?: number;
  /** Called with each part from the newest to the oldest; older ones are read while it returns true. Default: never. */
  readonly needsOlder?: (part: LogPart) => boolean;
}

/**
 * Finds the segments that are the log. An owner may carry segments over and remove them at any moment, so a segment that
 * is listed and not there only means that there is a newer one: the folder is listed again.
 */
export class LogLoader {
  readonly #folder: AgentFolder;
  readonly #disk: Disk;
  readonly #sha256: Sha256;
  readonly #scan: SegmentScan;

  constructor(folder: AgentFolder, disk: Disk, sha256: Sha256) {
    this.#folder = folder;
    this.#disk = disk;
    this.#sha256 = sha256;
    this.#scan = new SegmentScan(folder.agentId, sha256);
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

  /** One segment; `undefined` when it is not there. */
  async segment(generation: number): Promise<Segment | undefined> {
    const path = this.#folder.segment(generation);
    const bytes = await this.#disk.readFile(path);
    return bytes && parseSegment(this.#folder.agentId, generation, path, bytes, this.#sha256);
  }

  /** The image, or the generation of a segment that is missing. */
  async #attempt({ below, needsOlder = () => false }: LoadOptions): Promise<LoadedLog | number> {
    const voids: Segment[] = [];
    for (const generation of await this.#generations(below)) {
      const segment = await this.segment(generation);
      if (segment === undefined) return generation;
      if (segment.open !== undefined) return this.#imageOf(segment, voids, needsOlder);
      voids.push(segment);
    }
    this.#assertVoid(voids, 0, 0);
    return { from: 0, newest: undefined, dropped: undefined, parts: [], complete: true };
  }

  /** An owner has looked for what is missing before it made its segment. */
  async #generations(below: number | undefined): Promise<readonly number[]> {
    if (below === undefined) return listSegments({ disk: this.#disk, sha256: this.#sha256 }, this.#folder);
    const names = (await this.#disk.readdir(this.#folder.checkpoints)) ?? [];
    return segmentGenerations(names).filter((generation) => generation < below);
  }

  async #imageOf(
    newest: Segment,
    voids: readonly Segment[],
    needsOlder: (part: LogPart) => boolean,
  ): Promise<LoadedLog | number> {
    const { from, base } = newest.open ?? { from: 0, base: [] };
    const parts = partsOf(newest);
    if (voids.length > 0) this.#assertVoid(voids, newest.generation, this.#endOf(parts) ?? from);
    const dropped = this.#droppedAt(newest);
    if (dropped !== undefined) return { from: dropped, newest, dropped, parts: [], complete: true };
    let needed = [...parts].reverse().every(needsOlder);
    for (const [generation, length] of needed ? [...base].reverse() : []) {
      const older = await this.#listedParts(generation, length);
      if (older === undefined) return generation;
      parts.unshift(...older);
      needed = older.reverse().every(needsOlder);
      if (!needed) return { from, newest, dropped, parts, complete: generation === base[0]?.[0] };
    }
    return { from, newest, dropped, parts, complete: needed || base.length === 0 };
  }

  /** The parts of a segment that a newer one lists; `undefined` when the segment is gone. */
  async #listedParts(generation: number, length: number): Promise<LogPart[] | undefined> {
    const segment = await this.segment(generation);
    if (segment && segment.bytes.length < length)
      throw this.#scan.corrupt(segment, segment.bytes.length, `it is shorter than the ${length} bytes that count`);
    return segment && partsOf(segment, length);
  }

  #endOf(parts: readonly LogPart[]): number | undefined {
    const last = [...parts].reverse().map((part) => this.#scan.lastEntry(part.segment, part));
    return last.find((found) => found !== undefined)?.entry.position;
  }

  /** Nothing follows the line that says so: only the next owner's segment. */
  #droppedAt({ bytes, appended }: Segment): number | undefined {
    const [line] = linesBackwards(bytes, appended);
    return line && decodeControl("dropped", bytes.subarray(line.start, line.end), this.#sha256)?.position;
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
    if (written !== undefined && written.generation !== before + voids.length - at) throw this.#damagedOpen(written);
  }

  #damagedOpen(segment: Segment): CorruptLogError {
    return this.#scan.corrupt(segment, segment.bytes.length, "the line that makes the segment count is damaged");
  }
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
}

/** The lines of a segment up to `length` bytes: those carried over, then those appended. */
export function partsOf(segment: Segment, length = segment.bytes.length): LogPart[] {
  const { carried, appended } = segment;
  const ranges = [carried, { start: appended.start, end: Math.min(length, appended.end) }];
  return ranges.filter(({ start, end }) => end > start).map((range) => ({ ...range, segment }));
}

/**
 * The generations of an agent's segments, highest first; none for an agent never seen. What was removed from their end is
 * found, since the agent would silently be younger, or new: every other file of an agent is put there after the segment of
 * its generation has its name on the device, and a segment is removed only when a higher one has.
 *
 * @throws CorruptLogError when segments are gone that other files speak of.
 */
export async function listSegments(
  backend: Pick<FileBackend, "disk" | "sha256">,
  folder: AgentFolder,
): Promise<readonly number[]> {
  const { disk } = backend;
  await assertNoLinks(disk, [folder.path, folder.checkpoints]);
  const list = async () => segmentGenerations((await disk.readdir(folder.checkpoints)) ?? []);
  const listed = await list();
  const known = await knownGeneration(backend, folder, listed.length === 0);
  if (known <= (listed[0] ?? 0)) return listed;
  // An owner may have come meanwhile.
  const again = await list();
  if (known <= (again[0] ?? 0)) return again;
  const found = `it is missing, and no newer segment is there, while other files of the agent speak of it`;
  throw new CorruptLogError(folder.agentId, { file: folder.segment(known) }, found);
}

/** The highest generation that other files speak of; 0 when there are none. */
async function knownGeneration(
  { disk, sha256 }: Pick<FileBackend, "disk" | "sha256">,
  folder: AgentFolder,
  withBlobs: boolean,
): Promise<number> {
  const bytes = await disk.readFile(folder.state);
  const stated = bytes === undefined ? 0 : (decodeState(bytes.toString(), sha256)?.generation ?? 1);
  const owners = (await disk.readdir(folder.owners)) ?? [];
  const blobs = withBlobs ? ((await disk.readdir(folder.blobs)) ?? []) : [];
  const named = owners.map((name) => Number.parseInt(name, 10)).filter((generation) => generation > 0);
  return Math.max(stated, ...named, blobs.length > 0 ? 1 : 0);
}
