import { decodeEntry, type DecodedEntry, verifiedLinkOf } from "../../../checkpoint/format/entryCodec.ts";
import type { Entry } from "../../../checkpoint/records/Entry.ts";
import { CorruptLogError } from "../../../errors/storedDataErrors.ts";
import type { ChainLink } from "../../../checkpoint/format/EntryChain.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import { withoutUndefined } from "../../../internal/withoutUndefined.ts";
import {
  lineNumberAt,
  type LineRange,
  linesBackwards,
  linesIn,
  type Segment,
  decodeControl,
  isEnding,
} from "./Segment.ts";

/** Matches possible line starts inside a damaged line. Strings in records escape their quotes, so they cannot match. */
const lineStart = /\["[A-Za-z0-9_-]{43}","|\{"snapshot":\["|\{"open":|\{"closed":|\{"dropped":/g;

export interface FoundEntry extends LineRange {
  readonly entry: Entry;
  readonly summary: object | undefined;
}

interface LastAppended {
  /** The last complete append. `undefined` if the owner appended no entry. */
  readonly entry: FoundEntry | undefined;
  /** The remains of an incomplete append after `entry`. `undefined` if the segment ends with a complete append. */
  readonly torn: LineRange | undefined;
}

/** Reads the lines of one agent's segments and distinguishes crash remains from damage. */
export class SegmentScan {
  readonly #agentId: string;
  readonly #sha256: Sha256;
  readonly #boot: string | undefined;
  /** Caches decoded entries by offset, because large entries are expensive to decode. */
  readonly #looked = new WeakMap<Segment, Map<number, DecodedEntry>>();

  constructor(agentId: string, sha256: Sha256, boot?: string) {
    this.#agentId = agentId;
    this.#sha256 = sha256;
    this.#boot = boot;
  }

  /** Yields the entries in a range, oldest first. Returns an incomplete last line, as after a crash. */
  *entries(segment: Segment, range: LineRange): Generator<FoundEntry, LineRange | undefined> {
    let lastPosition: number | undefined;
    for (const line of linesIn(segment.bytes, range)) {
      const decoded = this.#decode(segment, line);
      if (decoded.ok && line.whole) {
        lastPosition = decoded.entry.position;
        yield { start: line.start, end: line.end, entry: decoded.entry, summary: decoded.summary };
        continue;
      }
      if (line.whole && isEnding(segment.bytes.subarray(line.start, line.end), this.#sha256)) continue;
      if (this.#isTorn(segment, range, line)) return { start: line.start, end: range.end };
      const found = decoded.ok ? "the line has no line break" : `a line is not readable (${decoded.defect})`;
      throw this.corrupt(segment, line.start, found, lastPosition);
    }
    return undefined;
  }

  /**
   * Yields the verified but unparsed lines in a range. An incomplete append at its end is damage unless `mayEndTorn`.
   */
  *links(
    segment: Segment,
    range: LineRange,
    mayEndTorn = false,
  ): Generator<LineRange & { readonly link: ChainLink & { prev: string } }> {
    for (const found of linesIn(segment.bytes, range)) {
      const { start, end, whole } = found;
      const line = segment.bytes.subarray(start, end);
      const link = whole ? verifiedLinkOf(line, this.#sha256) : undefined;
      if (link) yield { start, end, link };
      else if (whole && isEnding(line, this.#sha256)) continue;
      else if (mayEndTorn && this.#isTorn(segment, range, found)) return;
      else throw this.corrupt(segment, start, "a line is not readable");
    }
  }

  /** Returns the end of the last valid entry in a range. Verifies the entry without parsing it. */
  lastLink({ bytes }: Segment, range: LineRange): ChainLink | undefined {
    for (const { start, end, whole } of linesBackwards(bytes, range)) {
      const link = whole ? verifiedLinkOf(bytes.subarray(start, end), this.#sha256) : undefined;
      if (link) return link;
    }
    return undefined;
  }

  lastEntry(segment: Segment, range: LineRange): FoundEntry | undefined {
    for (const line of linesBackwards(segment.bytes, range)) {
      const decoded = line.whole ? this.#decode(segment, line) : undefined;
      if (decoded?.ok === true)
        return { start: line.start, end: line.end, entry: decoded.entry, summary: decoded.summary };
    }
    return undefined;
  }

  /** Returns the last entry of the owner. @throws CorruptLogError if a crash cannot explain the bytes after it. */
  lastAppended(segment: Segment): LastAppended {
    const entry = this.lastEntry(segment, segment.appended);
    const rest = { start: entry === undefined ? segment.appended.start : entry.end + 1, end: segment.appended.end };
    const after = this.entries(segment, rest).next();
    return { entry, torn: after.done === true ? after.value : undefined };
  }

  foundIn(bytes: Buffer, range: LineRange): FoundEntry[] {
    return [...linesIn(bytes, range)].flatMap(({ start, end }) => {
      const line = bytes.subarray(start, end);
      return [0, ...this.#startsWithin(line)].flatMap((at) => {
        const decoded = decodeEntry(line.subarray(at), this.#sha256);
        return decoded.ok ? { start: start + at, end, entry: decoded.entry, summary: decoded.summary } : [];
      });
    });
  }

  isDropped(bytes: Buffer): boolean {
    const [line] = linesBackwards(bytes, { start: 0, end: bytes.length });
    return (
      line?.whole === true && decodeControl("dropped", bytes.subarray(line.start, line.end), this.#sha256) !== undefined
    );
  }

  entryAt(segment: Segment, start: number): DecodedEntry {
    const end = segment.bytes.indexOf(10, start);
    if (end < 0) return { ok: false, defect: "malformed" };
    const decoded = this.#decode(segment, { start, end });
    const looked = this.#looked.get(segment) ?? new Map<number, DecodedEntry>();
    this.#looked.set(segment, looked.set(start, decoded));
    return decoded;
  }

  corrupt(segment: Segment, at: number, found: string, lastPosition?: number): CorruptLogError {
    const last =
      lastPosition ?? this.lastEntry(segment, { start: Math.min(segment.carried.start, at), end: at })?.entry.position;
    const line = lineNumberAt(segment.bytes, at);
    return new CorruptLogError(
      this.#agentId,
      withoutUndefined({ file: segment.path, line, lastPosition: last }),
      found,
    );
  }

  #decode(segment: Segment, { start, end }: LineRange): DecodedEntry {
    return this.#looked.get(segment)?.get(start) ?? decodeEntry(segment.bytes.subarray(start, end), this.#sha256);
  }

  /** Whether the rest of the range contains no valid line, even after a damaged line break. */
  #isTorn(segment: Segment, range: LineRange, from: LineRange & { readonly whole: boolean }): boolean {
    const { bytes } = segment;
    if (range.end !== bytes.length || this.#wasWhole(segment, from)) return false;
    for (const line of linesIn(bytes, { start: from.start, end: range.end })) {
      if (line.whole && this.#holdsLine(bytes.subarray(line.start, line.end), line.start === from.start)) return false;
    }
    return true;
  }

  /**
   * Whether a line was written completely. Without power loss, an interrupted write leaves a prefix, so a line with a
   * line break is complete. After power loss, any subset of its sectors may be present.
   */
  #wasWhole({ bytes, claim }: Segment, { start, end, whole }: LineRange & { readonly whole: boolean }): boolean {
    if (claim === undefined || claim.bootId !== this.#boot) return false;
    return whole || this.#isLine(bytes.subarray(start, end - 1));
  }

  #holdsLine(bytes: Buffer, damaged: boolean): boolean {
    if (!damaged && this.#isLine(bytes)) return true;
    return this.#startsWithin(bytes).some((at) => this.#isLine(bytes.subarray(at)));
  }

  #startsWithin(line: Buffer): number[] {
    return [...line.toString("latin1").matchAll(lineStart)].flatMap(({ index }) => (index > 0 ? index : []));
  }

  #isLine(line: Buffer): boolean {
    return (
      decodeEntry(line, this.#sha256).ok ||
      isEnding(line, this.#sha256) ||
      decodeControl("open", line, this.#sha256) !== undefined
    );
  }
}
