import { type ChainLink, EntryChain } from "../../../checkpoint/format/EntryChain.ts";
import { linkOf, snapshotMark, noteVerified } from "../../../checkpoint/format/entryCodec.ts";
import { withoutUndefined } from "../../../internal/withoutUndefined.ts";
import { CorruptLogError } from "../../../errors/storedDataErrors.ts";
import { type Entry, type PrunedGap, prunedGapsOf } from "../../../checkpoint/records/Entry.ts";
import { Pace } from "../../../internal/nextTurn.ts";
import type { AgentSummary, LogEnd, ReadOptions } from "../../RecordLog.ts";
import { isSummary } from "../../appends/isSummary.ts";
import type { AgentFolder } from "../layout/AgentFolder.ts";
import { lineBreak, type LineRange, linesBackwards, isEnding } from "../layout/Segment.ts";
import { type FoundEntry, SegmentScan } from "../layout/SegmentScan.ts";
import { type LoadedLog, LogLoader, type LogPart, type OwnLog, type Reading, tornTailOf } from "./LogLoader.ts";

const prunedText = Buffer.from('"kind":"pruned"');
/** Only a part of the text, because Node finds a text of up to seven bytes several times faster than a longer text. */
const prunedEnd = prunedText.subarray(-7);
const summaryText = Buffer.from('"summary":{');

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

  /**
   * Returns the checked entries, oldest first. Reads only the end of a long segment if that is enough. `own` is set for
   * an owner.
   */
  async read(options: ReadOptions, own?: OwnLog): Promise<Iterable<Entry>> {
    const { after = 0 } = options;
    return (after > 0 ? await this.#readEnd(options, after, own) : undefined) ?? this.#read(options, 0, own);
  }

  /** Returns `undefined` if the whole log must be read, for example to locate damage. */
  async #readEnd(options: ReadOptions, after: number, own: OwnLog | undefined): Promise<Iterable<Entry> | undefined> {
    try {
      return [...(await this.#read(options, after, own))];
    } catch (error) {
      if (error instanceof CorruptLogError) return undefined;
      throw error;
    }
  }

  async #read(
    { after = 0, upTo = Number.POSITIVE_INFINITY, sinceSnapshot = false }: ReadOptions,
    neededAfter: number,
    own: OwnLog | undefined,
  ): Promise<Iterable<Entry>> {
    let begin: { readonly part: LogPart; readonly start: number } | undefined;
    const needsOlder = (part: LogPart): boolean => {
      const snapshot = sinceSnapshot ? this.#snapshotStart(part, upTo) : undefined;
      const afterwards = after > 0 ? startAfter(part, after) : undefined;
      if (snapshot === undefined && afterwards === undefined) return true;
      begin = { part, start: Math.max(snapshot ?? 0, afterwards ?? 0) };
      return false;
    };
    const image = await this.#loader.load({ needsOlder, after: neededAfter, upTo, own });
    return this.#after(after, this.#follow(image, begin, upTo));
  }

  *#after(position: number, entries: Iterable<Entry>): Generator<Entry> {
    for (const entry of entries) if (entry.position > position) yield entry;
  }

  /** Returns the stored entry lines up to a position, oldest first, with each line and its link verified. */
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
        if (!chain.isPruned(link.position)) yield verifiedLine(segment.bytes.subarray(start, end), link);
        if (link.position === upTo) return;
      }
    }
  }

  /**
   * Returns the newest appended summary and whether the agent was deleted. Verifies all entries after the summary,
   * because damage there may hide a newer summary.
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
    const summary = summaryIn(this.#agentId, found);
    if (!summary) throw this.#scan.corrupt(found.part.segment, found.start, "a summary is not valid");
    return { summary, dropped };
  }

  /** Describes the end of the log. An agent without a log is never truncated. */
  async end(): Promise<LogEnd> {
    const image = await this.#loader.load();
    const { newest, torn } = image;
    if (newest === undefined) return withoutUndefined({ closed: torn === undefined, tornTail: torn });
    const [line] = linesBackwards(newest.bytes, newest.appended);
    const isLast = line?.whole === true && isEnding(newest.bytes.subarray(line.start, line.end), this.#reading.sha256);
    const cut = isLast ? undefined : this.#scan.lastAppended(newest).torn;
    return withoutUndefined({ closed: isLast && torn === undefined, tornTail: tornTailOf(image, cut) });
  }

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

  /** Yields the entries from `begin` or from the start up to a position, after checking their links. */
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
        // Ignores damage after the last requested entry.
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

  /** Returns the gaps that `pruned` records name. Such a record follows its gap, so the loaded lines contain it. */
  gapsIn(parts: readonly LogPart[]): PrunedGap[] {
    return parts
      .filter(({ segment: { bytes }, start, end }) => bytes.subarray(start, end).includes(prunedEnd))
      .flatMap((part) =>
        [...linesWithBackwards(part, prunedText)].flatMap(({ start }) => {
          const decoded = this.#scan.entryAt(part.segment, start);
          return decoded.ok ? prunedGapsOf(decoded.entry.records) : [];
        }),
      );
  }
}

/** Returns the last entry of a part with a summary. Does not verify later entries. */
export function lastWithSummary(scan: SegmentScan, part: LogPart): FoundEntry | undefined {
  for (const { start, end } of linesWithBackwards(part, summaryText)) {
    const decoded = scan.entryAt(part.segment, start);
    if (decoded.ok && decoded.summary !== undefined)
      return { start, end, entry: decoded.entry, summary: decoded.summary };
  }
  return undefined;
}

/** Returns `undefined` for an invalid summary. */
export function summaryIn(
  agentId: string,
  { entry: { position }, summary }: Pick<FoundEntry, "entry" | "summary">,
): AgentSummary | undefined {
  const found: unknown = { ...(summary as object), agentId, position };
  return isSummary(found) ? found : undefined;
}

/** Returns the same bytes as a plain Uint8Array, because `slice` of a Buffer does not copy. */
function verifiedLine({ buffer, byteOffset, length }: Buffer, link: ChainLink & { readonly prev: string }): Uint8Array {
  const line = new Uint8Array(buffer, byteOffset, length);
  noteVerified(line, link);
  return line;
}

function partsFrom(parts: readonly LogPart[], first: LogPart, start: number): LogPart[] {
  const at = parts.findIndex((part) => part.segment === first.segment && part.start === first.start);
  return parts.slice(at).map((part, index) => (index === 0 ? { ...part, start } : part));
}

const snapshotLine = Buffer.from(`\n${snapshotMark}`);
const snapshotBegin = snapshotLine.subarray(0, 7);

/** Yields the starts of snapshot lines, from last to first. Finds them by their first bytes without verification. */
export function* snapshotLinesBackwards({ segment: { bytes }, start, end }: LogPart): Generator<number> {
  // The claim is the first line, so a line break precedes every line of a part.
  for (let at = end - snapshotLine.length; at >= start - 1; at--) {
    at = bytes.lastIndexOf(snapshotBegin, at);
    if (at < start - 1) return;
    if (bytes.compare(snapshotLine, 0, snapshotLine.length, at, at + snapshotLine.length) === 0) yield at + 1;
  }
}

/** Yields the lines that contain a text, from last to first. */
function* linesWithBackwards({ segment: { bytes }, start, end }: LogPart, text: Buffer): Generator<LineRange> {
  for (let at = bytes.lastIndexOf(text, end - text.length); at >= start;) {
    const lineStart = Math.max(start, bytes.lastIndexOf(lineBreak, at) + 1);
    const found = bytes.indexOf(lineBreak, at);
    if (found >= 0 && found < end) yield { start: lineStart, end: found };
    at = lineStart - text.length < start ? -1 : bytes.lastIndexOf(text, lineStart - text.length);
  }
}

/** Returns the start of the lines after a position, unverified. `undefined` if all lines are after the position. */
function startAfter(part: LogPart, position: number): number | undefined {
  for (const line of linesBackwards(part.segment.bytes, part)) {
    const found = linkOf(part.segment.bytes.subarray(line.start, line.end));
    if (found && found.position <= position) return line.end + 1;
  }
  return undefined;
}
