import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";
import type {
  CallId,
  ClearRecord,
  NumberRange,
  ProgressRecord,
  SessionRecord,
  SpliceRecord,
} from "./sessionRecords.ts";

/** A stored item. Its number never changes. */
export interface SessionItem {
  readonly number: number;
  readonly value: StoredValue;
}

/** The items of a session in order, and its applied transactions. */
export class SessionState {
  #items: SessionItem[] = [];
  #next = 0;
  readonly #transactions = new Map<string, string>();
  readonly #progress = new Map<string, { readonly done: number; readonly added: readonly NumberRange[] }>();

  readonly #callIds = new Map<string, string>();

  get items(): readonly SessionItem[] {
    return this.#items;
  }

  digestOf(operation: string): string | undefined {
    return this.#transactions.get(operation);
  }

  /** The provider's ids of calls that durable runs added. */
  get callIds(): readonly CallId[] {
    return [...this.#callIds];
  }

  get next(): number {
    return this.#next;
  }

  /** Returns how many of its changes a durable run has applied. */
  progressOf(run: string): number {
    return this.#progress.get(run)?.done ?? 0;
  }

  addedBy(run: string): readonly NumberRange[] {
    return this.#progress.get(run)?.added ?? [];
  }

  /** @throws RangeError if the record does not fit */
  add(record: SessionRecord): void {
    switch (record.kind) {
      case "splice":
        return this.#splice(record);
      case "clear":
        return this.#clear(record);
      case "transaction":
        this.#transactions.set(record.operation, record.digest);
        return;
      case "progress":
        return this.#proceed(record);
      case "call_ids":
        for (const [call, provided] of record.ids) this.#callIds.set(call, provided);
    }
  }

  *restate(): Iterable<SessionRecord> {
    let at = 0;
    for (const [first, last] of rangesOf(this.#items)) {
      const end = at + last - first + 1;
      yield { kind: "splice", at, first, items: this.#items.slice(at, end).map(({ value }) => value) };
      at = end;
    }
    const last = this.#items.at(-1)?.number ?? -1;
    if (this.#next > last + 1) yield { kind: "splice", at, first: this.#next };
    if (this.#callIds.size > 0) yield { kind: "call_ids", ids: this.callIds };
    for (const [operation, digest] of this.#transactions) yield { kind: "transaction", operation, digest };
    for (const [run, { done, added }] of this.#progress)
      yield { kind: "progress", run, done, ...(added.length > 0 && { added }) };
  }

  #splice({ at, drop = 0, items = [], first = this.#next }: SpliceRecord): void {
    const { length } = this.#items;
    if (at + drop > length)
      throw new RangeError(`items ${at} to ${at + drop} are removed, but there are only ${length} items`);
    if (first + items.length > Number.MAX_SAFE_INTEGER) throw new RangeError(`item number ${first} is too high`);
    const added = items.map((value, index) => ({ number: first + index, value }));
    if (at === length) for (const item of added) this.#items.push(item);
    else this.#items = [...this.#items.slice(0, at), ...added, ...this.#items.slice(at + drop)];
    // Item numbers need not be ascending: a replacement has a higher number than the items after it.
    this.#next = Math.max(this.#next, first + added.length);
  }

  #proceed({ run, done, added = [] }: ProgressRecord): void {
    if (done === 0) this.#setBack(run);
    else this.#progress.set(run, { done, added: [...this.addedBy(run), ...added] });
  }

  #setBack(run: string): void {
    this.#progress.delete(run);
    for (const operation of this.#transactions.keys())
      if (operation.startsWith(`${run}#`)) this.#transactions.delete(operation);
  }

  #clear({ next }: ClearRecord): void {
    if (next < this.#next) throw new RangeError(`the next item number ${next} is lower than ${this.#next}`);
    this.#items = [];
    this.#next = next;
    this.#transactions.clear();
    this.#callIds.clear();
  }
}

export function rangesOf(items: readonly SessionItem[]): NumberRange[] {
  const ranges: [number, number][] = [];
  for (const { number } of items) {
    const open = ranges.at(-1);
    if (open && open[1] + 1 === number) open[1] = number;
    else ranges.push([number, number]);
  }
  return ranges;
}
