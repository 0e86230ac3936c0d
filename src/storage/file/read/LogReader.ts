import { EntryChain } from "../../../checkpoint/format/EntryChain.ts";
import { linkOf, snapshotMark } from "../../../checkpoint/format/entryCodec.ts";
import { withoutUndefined } from "../../../internal/withoutUndefined.ts";
import { CorruptLogError } from "../../../errors/storage/CorruptLogError.ts";
import type { Entry } from "../../../checkpoint/records/Entry.ts";
import { type PrunedGap, prunedGapsOf } from "../../../checkpoint/records/prunedGaps.ts";
import { Pace } from "../../../internal/Pace.ts";
import type { AgentSummary, LogEnd, ReadOptions } from "../../RecordLog.ts";
import type { AgentFolder } from "../layout/AgentFolder.ts";
import { lineBreak, type LineRange, linesBackwards } from "../layout/Segment.ts";
import { type FoundEntry, SegmentScan } from "../layout/SegmentScan.ts";
import { isEnding } from "../layout/controlLine.ts";
import { type LoadedLog, LogLoader, type LogPart, type Reading, tornTailOf } from "./LogLoader.ts";

const prunedText = Buffer.from('"kind":"pruned"');
const summaryText = Buffer.from('"summary":{');

/** Reads a log without owning it. Writes nothing. */
export class LogReader {
  readonly #agentId: string;
  readonly #loader: LogLoader;
  readonly #scan: SegmentScan;
  readonly #reading: Reading;

  constructor(folder: AgentFolder, reading: Reading) {
    this.#agentId = folder.agentId;
    this.#loader = new LogLoader(folder, reading);
    this.#scan = new SegmentScan(folder.agentId, reading.sha256, reading.identity.bootId);
    this.#reading = reading;
  }

  /** Entries, oldest first, each verified and linked to the one before. Of a long segment only the end is read, if that is enough. */
  async read(options: ReadOptions): Promise<Iterable<Entry>> {
    const { after = 0 } = options;
    return (after > 0 ? await this.#readEnd(options, after) : undefined) ?? this.#read(options);
  }

  /** `undefined`: read all of it, which tells what is damaged and where. */
  async #readEnd(options: ReadOptions, after: number): Promise<Iterable<Entry> | undefined> {
    try {
      return [...(await this.#read(options, after))];
    } catch (error) {
      if (error instanceof CorruptLogError) return undefined;
      throw error;
    }
  }

  async #read(
    { after = 0, upTo = Number.POSITIVE_INFINITY, sinceSnapshot = false }: ReadOptions,
    neededAfter = 0,
  ): Promise<Iterable<Entry>> {
    let begin: { readonly part: LogPart; readonly start: number } | undefined;
    const needsOlder = (part: LogPart): boolean => {
      const snapshot = sinceSnapshot ? this.#snapshotStart(part, upTo) : undefined;
      const afterwards = after > 0 ? startAfter(part, after) : undefined;
      if (snapshot === undefined && afterwards === undefined) return true;
      begin = { part, start: Math.max(snapshot ?? 0, afterwards ?? 0) };
      return false;
    };
    const image = await this.#loader.load({ needsOlder, after: neededAfter, upTo });
    return this.#after(after, this.#follow(image, begin, upTo));
  }

  *#after(position: number, entries: Iterable<Entry>): Generator<Entry> {
    for (const entry of entries) if (entry.position > position) yield entry;
  }

  /** The lines of entries up to a position as they are stored, oldest first, each verified and linked to the one before. */
  async lines(upTo = Number.POSITIVE_INFINITY): Promise<Iterable<Uint8Array>> {
    return this.#linesOf(await this.#loader.load({ needsOlder: () => true }), upTo);
  }

  *#linesOf({ from, parts }: LoadedLog, upTo: number): Generator<Uint8Array> {
    const chain = new EntryChain(this.gapsIn(parts), { position: from, checksum: "" });
    for (const { segment, ...range } of parts) {
      for (const { start, end, link } of this.#scan.links(segment, range, true)) {
        if (link.position > upTo) return;
        const defect = chain.accept(link);
        if (defect !== undefined) throw this.#scan.corrupt(segment, start, defect);
        if (!chain.isPruned(link.position)) yield plainBytes(segment.bytes.subarray(start, end));
        if (link.position === upTo) return;
      }
    }
  }

  /**
   * The newest summary that an append carried, and whether the agent was deleted. All that comes after the summary is
   * verified: a later one may be in what is damaged.
   */
  async lastSummary(): Promise<{ readonly summary: AgentSummary | undefined; readonly dropped: boolean }> {
    let found: (FoundEntry & { readonly part: LogPart }) | undefined;
    const needsOlder = (part: LogPart): boolean => {
      const last = lastWithSummary(this.#scan, part);
      found = last && { ...last, part };
      return found === undefined;
    };
    const image = await this.#loader.load({ needsOlder });
    for (const _ of this.#follow(image, found));
    const dropped = image.dropped !== undefined;
    if (found === undefined) return { summary: undefined, dropped };
    return { summary: summaryIn(this.#agentId, found), dropped };
  }

  /** How the log ends. An agent without a log has nothing that could be missing. */
  async end(): Promise<LogEnd> {
    const image = await this.#loader.load();
    const { newest, torn } = image;
    if (newest === undefined) return withoutUndefined({ closed: torn === undefined, tornTail: torn });
    const [line] = linesBackwards(newest.bytes, newest.appended);
    const isLast = line?.whole === true && isEnding(newest.bytes.subarray(line.start, line.end), this.#reading.sha256);
    const cut = isLast ? undefined : this.#scan.lastAppended(newest).torn;
    return withoutUndefined({ closed: isLast && torn === undefined, tornTail: tornTailOf(image, cut) });
  }

  /** How many bytes are there of entries that `pruned` records name. */
  async unremovedBytes(): Promise<number> {
    const { parts } = await this.#loader.load({ needsOlder: () => true });
    const gaps = this.gapsIn(parts);
    const chain = new EntryChain(gaps);
    const pace = new Pace();
    let bytes = 0;
    for (const part of gaps.length === 0 ? [] : parts) {
      for (const { start, end, entry } of this.#scan.entries(part.segment, part)) {
        if (chain.isPruned(entry.position)) bytes += end - start;
        await pace.after(end - start);
      }
    }
    return bytes;
  }

  /** The entries of a log from a line on, or from its start, up to a position, each linked to the one before. */
  *#follow(
    { from, parts: all, complete }: LoadedLog,
    begin: { readonly part: LogPart; readonly start: number } | undefined,
    upTo = Number.POSITIVE_INFINITY,
  ): Generator<Entry> {
    const parts = begin === undefined ? all : partsFrom(all, begin.part, begin.start);
    const start = begin === undefined && complete ? { position: from, checksum: "" } : undefined;
    const chain = new EntryChain(this.gapsIn(parts), start);
    for (const part of parts) {
      for (const found of this.#scan.entries(part.segment, part)) {
        if (found.entry.position > upTo) return;
        const defect = chain.accept(found.entry);
        if (defect !== undefined) throw this.#scan.corrupt(part.segment, found.start, defect);
        if (!chain.isPruned(found.entry.position)) yield found.entry;
        // Damage after the last entry asked for is not reported.
        if (found.entry.position === upTo) return;
      }
    }
  }

  #snapshotStart(part: LogPart, upTo: number): number | undefined {
    for (const start of snapshotLinesBackwards(part)) {
      const decoded = this.#scan.entryAt(part.segment, start);
      if (decoded.ok && decoded.entry.position <= upTo) return start;
    }
    return undefined;
  }

  /** The gaps that `pruned` records name. What names a gap comes after it, so the lines that are read hold it. */
  gapsIn(parts: readonly LogPart[]): PrunedGap[] {
    return parts.flatMap((part) =>
      [...linesWithBackwards(part, prunedText)].flatMap(({ start }) => {
        const decoded = this.#scan.entryAt(part.segment, start);
        return decoded.ok ? prunedGapsOf(decoded.entry.records) : [];
      }),
    );
  }
}

/** The last entry of a part that carries a summary. What comes after it is not verified. */
export function lastWithSummary(scan: SegmentScan, part: LogPart): FoundEntry | undefined {
  for (const { start, end } of linesWithBackwards(part, summaryText)) {
    const decoded = scan.entryAt(part.segment, start);
    if (decoded.ok && decoded.summary !== undefined)
      return { start, end, entry: decoded.entry, summary: decoded.summary };
  }
  return undefined;
}

/** The summary that an entry carries, which has the agent's id and the position itself. */
export function summaryIn(agentId: string, { entry: { position }, summary }: FoundEntry): AgentSummary {
  return { ...(summary as Omit<AgentSummary, "agentId" | "position">), agentId, position };
}

/** The same bytes, without what Node adds: `slice` copies. */
function plainBytes({ buffer, byteOffset, length }: Buffer): Uint8Array {
  return new Uint8Array(buffer, byteOffset, length);
}

function partsFrom(parts: readonly LogPart[], first: LogPart, start: number): LogPart[] {
  const at = parts.findIndex((part) => part.segment === first.segment && part.start === first.start);
  return parts.slice(at).map((part, index) => (index === 0 ? { ...part, start } : part));
}

/** A reader of one agent's log. */
export function openReader(reading: Reading, folder: AgentFolder): LogReader {
  return new LogReader(folder, reading);
}

const snapshotLine = Buffer.from(`\n${snapshotMark}`);

/** Where lines begin that hold a snapshot, from the last to the first: found by their first bytes, not yet verified. */
export function* snapshotLinesBackwards({ segment, start, end }: LogPart): Generator<number> {
  // A line break comes before every line of a part, since the claim is the first line.
  for (let at = end - snapshotLine.length; at >= start - 1; at--) {
    at = segment.bytes.lastIndexOf(snapshotLine, at);
    if (at < start - 1) return;
    yield at + 1;
  }
}

/** The lines that hold a text, from the last to the first. */
export function* linesWithBackwards({ segment: { bytes }, start, end }: LogPart, text: Buffer): Generator<LineRange> {
  for (let at = bytes.lastIndexOf(text, end - text.length); at >= start;) {
    const lineStart = Math.max(start, bytes.lastIndexOf(lineBreak, at) + 1);
    const found = bytes.indexOf(lineBreak, at);
    if (found >= 0 && found < end) yield { start: lineStart, end: found };
    at = lineStart - text.length < start ? -1 : bytes.lastIndexOf(text, lineStart - text.length);
  }
}

/** Where the lines after a position begin; `undefined` when the part holds no line up to it. Unverified. */
export function startAfter(part: LogPart, position: number): number | undefined {
  for (const line of linesBackwards(part.segment.bytes, part)) {
    const found = linkOf(part.segment.bytes.subarray(line.start, line.end));
    if (found && found.position <= position) return line.end + 1;
  }
  return undefined;
}
