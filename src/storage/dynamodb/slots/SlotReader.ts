import type { TablePage, TableRange, TableRow } from "../../table/LogTable.ts";
import {
  type DynamoDBConnection,
  type FoundItem,
  type RangeQuery,
  itemBytes,
  type PartsOwner,
} from "../items/DynamoDBConnection.ts";
import { type KeyRange, slotOf, slotRange, stagedPosition, stagedRange } from "../items/itemKeys.ts";
import { type SlotChain, endPosition, type SlotState } from "./SlotState.ts";

/** The target size of a page. Reading a page takes one request per MB, plus one request for the end of the log. */
const pageBytes = 8 * 1024 * 1024;

interface Segment {
  readonly range: KeyRange;
  readonly isTaken: boolean;
  positionOf(item: FoundItem): number;
  partsOf(item: FoundItem): PartsOwner;
}

/** Reads appends. An imported log begins with imported appends, which have separate keys. */
export class SlotReader {
  readonly #connection: DynamoDBConnection;
  readonly #slots: SlotChain;

  constructor(connection: DynamoDBConnection, slots: SlotChain) {
    this.#connection = connection;
    this.#slots = slots;
  }

  async rows(agentId: string, { after, upTo = Infinity, sinceSnapshot, last }: TableRange): Promise<TablePage> {
    const { state } = await this.#slots.last(agentId);
    const [first, end] = [Math.max(after, state.start) + 1, Math.min(upTo, Number.MAX_SAFE_INTEGER)];
    const { start } = state;
    if (last) return { start, rows: await this.#last(agentId, state, first, end), more: false };
    if (sinceSnapshot) {
      const page = await this.#sinceSnapshot(agentId, state, first, end);
      if (page) return { start, ...page };
    }
    return { start, ...(await this.#page(agentId, state, first, end)) };
  }

  segments(agentId: string, { taken, offset, start }: SlotState, first: number, last: number): readonly Segment[] {
    const isTaken = taken.by !== 0 && taken.end > start;
    const segments: Segment[] = [];
    const takenLast = isTaken ? Math.min(last, taken.end) : 0;
    if (first <= takenLast) segments.push(takenSegment(agentId, taken.by, first, takenLast));
    const own = isTaken ? Math.max(first, taken.end + 1) : first;
    if (own <= last) segments.push(ownSegment(agentId, offset, own, last));
    return segments;
  }

  async #last(agentId: string, state: SlotState, first: number, end: number): Promise<TableRow[]> {
    const segments = this.segments(agentId, state, first, end).toReversed();
    // Reads two items, because the last one can be the claim of an owner that has not appended yet.
    for await (const row of this.#rowsOf(segments, { descending: true, limit: 2 })) return [row];
    return [];
  }

  async #sinceSnapshot(
    agentId: string,
    state: SlotState,
    first: number,
    end: number,
  ): Promise<Omit<TablePage, "start"> | undefined> {
    let snapshot = end >= endPosition(state) ? state.snapshot : await this.#snapshotAt(agentId, state, first, end);
    while (snapshot >= first) {
      const page = await this.#page(agentId, state, snapshot, end);
      if (page.rows[0]?.position === snapshot) return page;
      // The snapshot was removed during the read, so an earlier one is tried.
      snapshot = await this.#snapshotAt(agentId, state, first, snapshot - 1);
    }
    return undefined;
  }

  async #snapshotAt(agentId: string, state: SlotState, first: number, upTo: number): Promise<number> {
    for (const { range } of this.segments(agentId, state, first, upTo).toReversed()) {
      const { items } = await this.#connection.query(range, { descending: true, limit: 1, only: ["snapshot"] });
      if (items[0]) return Math.min(Number(items[0]["snapshot"] ?? 0), upTo);
    }
    return 0;
  }

  async #page(agentId: string, state: SlotState, first: number, end: number): Promise<Omit<TablePage, "start">> {
    const rows: TableRow[] = [];
    let bytes = 0;
    for await (const row of this.#rowsOf(this.segments(agentId, state, first, end))) {
      rows.push(row);
      bytes += row.encoded.length;
      if (bytes > pageBytes) return { rows, more: true };
    }
    return { rows, more: false };
  }

  async *#rowsOf(segments: readonly Segment[], query: RangeQuery = {}): AsyncGenerator<TableRow> {
    for (const segment of segments)
      for await (const items of this.#connection.pages(segment.range, query)) yield* this.#rowsIn(segment, items);
  }

  async *#rowsIn(segment: Segment, items: readonly FoundItem[]): AsyncGenerator<TableRow> {
    for (const item of items) {
      const row = await this.#row(segment, item);
      if (row) yield row;
    }
  }

  /** Returns `undefined` for a claim and for an append with removed bytes. */
  async #row(segment: Segment, item: FoundItem): Promise<TableRow | undefined> {
    if (item["claim"] !== undefined) return undefined;
    const encoded = await itemBytes(this.#connection, segment.partsOf(item), item);
    return encoded && { position: segment.positionOf(item), encoded };
  }
}

export function appendParts(agentId: string, item: FoundItem): PartsOwner {
  return { agentId, generation: Number(item["gen"]), id: `append ${slotOf(item.sk)}` };
}

export function takenParts(agentId: string, generation: number, position: number): PartsOwner {
  return { agentId, generation, id: `taken ${position}` };
}

function ownSegment(agentId: string, offset: number, first: number, last: number): Segment {
  const positionOf = (item: FoundItem) => slotOf(item.sk) - offset;
  const range = slotRange(agentId, first + offset, last + offset);
  return { range, isTaken: false, positionOf, partsOf: (item) => appendParts(agentId, item) };
}

function takenSegment(agentId: string, generation: number, first: number, last: number): Segment {
  const positionOf = (item: FoundItem) => stagedPosition(item.sk);
  const partsOf = (item: FoundItem) => takenParts(agentId, generation, positionOf(item));
  return { range: stagedRange(agentId, generation, first, last), isTaken: true, positionOf, partsOf };
}
