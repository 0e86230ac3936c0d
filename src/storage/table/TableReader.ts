import { type ChainLink, EntryChain, positionsOf } from "../../checkpoint/format/EntryChain.ts";
import { decodeEntry, hasSnapshot, verifiedLinkOf } from "../../checkpoint/format/entryCodec.ts";
import { type Entry, type PrunedGap, prunedGapsOf } from "../../checkpoint/records/Entry.ts";
import { CorruptLogError } from "../../errors/storedDataErrors.ts";
import { StorageError } from "../../errors/storageErrors.ts";
import { countFirst } from "../../internal/countFirst.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { ReadOptions } from "../RecordLog.ts";
import { askTableAgain, type RetriedTable } from "./askTable.ts";
import type { LogTable, TableGap, TablePage, TableRange, TableRow } from "./LogTable.ts";
import { quoted } from "../../errors/AgentPersistenceError.ts";

const maxAttempts = 8;

/** The rows of a range. `pruned` is set if these positions were read together with the rows. */
type Read = Pick<TablePage, "start" | "rows" | "pruned">;

interface Collected {
  readonly start: number;
  readonly rows: readonly TableRow[];
  readonly gaps: readonly PrunedGap[];
}

export interface TableLogEnd {
  readonly end: ChainLink;
  /** Damage at the end. `undefined` if the end is intact. */
  readonly damage?: CorruptLogError;
}

export class TableReader {
  readonly #retried: RetriedTable;
  readonly #table: LogTable;
  readonly #agentId: string;
  readonly #sha256: Sha256;

  constructor(retried: RetriedTable & { readonly table: LogTable }, agentId: string, sha256: Sha256) {
    this.#retried = retried;
    this.#table = retried.table;
    this.#agentId = agentId;
    this.#sha256 = sha256;
  }

  /**
   * Yields entries, oldest first, after checking each entry and its link to the previous one.
   *
   * @param whole - the whole log, if it has a single append that is already known.
   */
  async *read(
    { after = 0, upTo = Infinity, sinceSnapshot }: ReadOptions,
    whole?: Omit<Collected, "gaps">,
  ): AsyncGenerator<Entry> {
    const range = { after, ...(upTo < Infinity && { upTo }), sinceSnapshot };
    const collected = whole ? { ...whole, gaps: [] } : await this.#collect(range);
    const chain = this.#chainOf(range, collected);
    let before: number | undefined;
    for (const row of collected.rows) {
      const entry = this.decode(row, before);
      const defect = chain.accept(entry);
      if (defect !== undefined) throw this.#corrupt(defect, before);
      if (!chain.isPruned(entry.position)) yield entry;
      before = row.position;
    }
  }

  /** Yields the encoded appends, without removed appends. Checks each append and its link to the previous append. */
  async *encodedAppends(upTo: number | undefined): AsyncGenerator<Uint8Array> {
    const range = { after: 0, upTo };
    const collected = await this.#collect(range);
    const chain = this.#chainOf(range, collected);
    let before: number | undefined;
    for (const { encoded, position } of collected.rows) {
      const link = verifiedLinkOf(encoded, this.#sha256);
      const defect = link?.position === position ? chain.accept(link) : `position ${position} is damaged (checksum)`;
      if (defect !== undefined) throw this.#corrupt(defect, before);
      if (!chain.isPruned(position)) yield new Uint8Array(encoded);
      before = position;
    }
  }

  async end(): Promise<TableLogEnd> {
    return this.endIn(await this.#page({ after: 0, last: true }));
  }

  /** @param page - the last append of the log. */
  endIn({ start, rows, end }: TablePage): TableLogEnd {
    const [row] = rows;
    const position = row?.position ?? start;
    try {
      if (end !== undefined && end !== position)
        throw this.#corrupt(`the last append is at position ${position}, but should be at ${end}`);
      return { end: { position, checksum: row === undefined ? "" : this.decode(row).checksum } };
    } catch (error) {
      if (error instanceof CorruptLogError) return { end: { position, checksum: "" }, damage: error };
      throw error;
    }
  }

  async at(position: number): Promise<TableRow | undefined> {
    const { rows } = await this.#page({ after: position - 1, upTo: position });
    return rows[0];
  }

  async removed(): Promise<readonly TableGap[]> {
    const { positions } = await this.#pruned();
    const rows = await this.#rowsAt(positions);
    const end = (positions.at(-1) ?? 0) - 1;
    const ranges = positionsOf(this.#gapsIn(rows));
    return ranges.flatMap(([first, last]) => (first <= end ? [[first, Math.min(last, end)] as const] : []));
  }

  async bytesOf(ranges: readonly TableGap[]): Promise<number> {
    let bytes = 0;
    for (const [first, last] of ranges) {
      const { rows } = (await this.#rows({ after: first - 1, upTo: last })) ?? { rows: [] };
      for (const { encoded } of rows) bytes += encoded.length;
    }
    return bytes;
  }

  decode(row: TableRow, before?: number): Entry {
    const decoded = decodeEntry(row.encoded, this.#sha256);
    if (!decoded.ok) throw this.#corrupt(`position ${row.position} is damaged (${decoded.defect})`, before);
    if (decoded.entry.position === row.position) return decoded.entry;
    throw this.#corrupt(`position ${decoded.entry.position} is stored as position ${row.position}`, before);
  }

  /**
   * Reads all rows, then the removed ranges, and only then returns the first row. A concurrent pruning is visible
   * completely or not at all, even if there are several pages.
   */
  async #collect(range: TableRange): Promise<Collected> {
    let asked = range;
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const read = await this.#rows(asked);
      const collected = read && (await this.#withPruned(asked, read));
      if (collected !== undefined) return collected;
      // A crash can leave the newest snapshot in a partly removed range. The next attempt reads earlier rows as well.
      if (attempt > 0) asked = { ...range, sinceSnapshot: false };
    }
    const of = `agent ${quoted(this.#agentId)} in ${this.#table.name}`;
    throw new StorageError("unavailable", "read", of, { advice: "The agent kept changing. Read it again." });
  }

  async #withPruned(range: TableRange, { start, rows: read, pruned: known }: Read): Promise<Collected | undefined> {
    if (known !== undefined) return this.#assemble(range, { start, rows: read }, known);
    const rows = [...read];
    for (;;) {
      const pruned = await this.#pruned();
      if (pruned.start !== start) return undefined;
      const last = rows.at(-1)?.position ?? range.after;
      const isBehind = (position: number) => position > last && position <= (range.upTo ?? Infinity);
      // The append that names a removal is stored before the removal, so all required rows are still stored.
      const more = pruned.positions.some(isBehind)
        ? await this.#rows({ after: last, upTo: range.upTo })
        : { start, rows: [] };
      if (more?.start !== start) return undefined;
      if (more.rows.length === 0) return this.#assemble(range, { start, rows }, pruned.positions);
      rows.push(...more.rows);
    }
  }

  /** Returns `undefined` if the snapshot at the start is being removed, because a newer snapshot exists. */
  async #assemble(
    { sinceSnapshot }: TableRange,
    { start, rows: read }: Omit<Collected, "gaps">,
    pruned: readonly number[],
  ): Promise<Collected | undefined> {
    const gaps = this.#gapsIn(await this.#prunedAmong(read, pruned));
    const rows = withoutHalves(read, positionsOf(gaps));
    const [first] = read;
    const isGone = sinceSnapshot && first !== rows[0] && first !== undefined && hasSnapshot(first.encoded);
    return isGone ? undefined : { start, rows, gaps };
  }

  #chainOf({ after, sinceSnapshot }: TableRange, { start, rows, gaps }: Collected): EntryChain {
    const [first] = rows;
    if (after <= start && !(sinceSnapshot && first && hasSnapshot(first.encoded)))
      return new EntryChain(gaps, { position: start, checksum: "" });
    const from = (first?.position ?? 0) - 1;
    return new EntryChain(gaps.filter(({ last }) => last > from));
  }

  async #prunedAmong(rows: readonly TableRow[], positions: readonly number[]): Promise<readonly TableRow[]> {
    const named = new Set(positions);
    const found = rows.filter(({ position }) => named.has(position));
    const last = rows.at(-1)?.position ?? Infinity;
    const behind = await this.#rowsAt(positions.filter((position) => position > last));
    return [...found, ...behind];
  }

  /** Returns all rows of a range. `undefined` if the agent was dropped during the read. */
  async #rows(range: TableRange): Promise<Read | undefined> {
    const first = await this.#page(range);
    if (!first.more) return first;
    const rows = [...first.rows];
    for (let more: boolean = first.more; more;) {
      const page = await this.#page({ after: rows.at(-1)?.position ?? range.after, upTo: range.upTo });
      if (page.start !== first.start) return undefined;
      for (const row of page.rows) rows.push(row);
      more = page.more && page.rows.length > 0;
    }
    return { start: first.start, rows };
  }

  async #rowsAt(positions: readonly number[]): Promise<readonly TableRow[]> {
    const rows: TableRow[] = [];
    for (const position of positions) {
      const row = await this.at(position);
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }

  #gapsIn(rows: readonly TableRow[]): readonly PrunedGap[] {
    return rows.flatMap(({ encoded }) => {
      const decoded = decodeEntry(encoded, this.#sha256);
      return decoded.ok ? prunedGapsOf(decoded.entry.records) : [];
    });
  }

  #page(range: TableRange): Promise<TablePage> {
    return this.#ask(() => this.#table.rows(this.#agentId, range));
  }

  #pruned(): ReturnType<LogTable["pruned"]> {
    return this.#ask(() => this.#table.pruned(this.#agentId));
  }

  #ask<Result>(call: () => Promise<Result>): Promise<Result> {
    return askTableAgain(this.#retried, "read", this.#agentId, call);
  }

  #corrupt(found: string, lastPosition?: number): CorruptLogError {
    const place = { file: this.#table.name, ...(lastPosition !== undefined && { lastPosition }) };
    return new CorruptLogError(this.#agentId, place, found);
  }
}

/**
 * Removes the remaining rows of each range that lacks some rows, because its removal is not finished.
 *
 * @param ranges - sorted and disjoint, like the rows.
 */
function withoutHalves(rows: readonly TableRow[], ranges: readonly TableGap[]): readonly TableRow[] {
  const [start, end] = [rows[0]?.position ?? 0, rows.at(-1)?.position ?? 0];
  const kept: (readonly TableRow[])[] = [];
  let at = 0;
  for (const [first, last] of ranges) {
    const from = countFirst(rows, ({ position }) => position < first);
    const to = countFirst(rows, ({ position }) => position <= last);
    if (to - from === Math.min(last, end) - Math.max(first, start) + 1) continue;
    kept.push(rows.slice(at, from));
    at = to;
  }
  return at === 0 ? rows : [...kept, rows.slice(at)].flat();
}
