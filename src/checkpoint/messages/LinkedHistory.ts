import { LayeredMap } from "../../internal/LayeredMap.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import type { StoredValue } from "../values/valueCodec.ts";

interface Link {
  readonly entry: StoredMessage | undefined;
  before: number | undefined;
  after: number | undefined;
}

function copyOf(link: Link): Link {
  return { ...link };
}

const end = undefined;

/** A message history as a linked list, so that the cost of an edit does not depend on the length of the history. */
export class LinkedHistory {
  #links = new LayeredMap<number | typeof end, Link>();

  constructor(entries: Iterable<StoredMessage> = []) {
    this.#links.set(end, { entry: undefined, before: end, after: end });
    for (const entry of entries) this.push(entry);
  }

  get isCopied(): boolean {
    return this.#links.isCopied;
  }

  /** Returns a history with the messages of this one. Do not change this history while the new history is in use. */
  layered(): LinkedHistory {
    const next = new LinkedHistory();
    next.#links = this.#links.layered();
    return next;
  }

  push(entry: StoredMessage): void {
    this.#insert(entry, end);
  }

  edit({ remove, insert, before }: HistoryEdit<StoredMessage>): readonly StoredMessage[] {
    const removed = remove.flatMap(([from, to]) => this.#numbersIn(from, to).flatMap((number) => this.#remove(number)));
    const next = before !== undefined && this.has(before) ? before : end;
    for (const entry of insert) this.#insert(entry, next);
    return removed;
  }

  *from(number?: number): Generator<StoredMessage> {
    let link = this.#links.get(number ?? this.#links.get(end)?.after);
    for (; link?.entry !== undefined; link = this.#links.get(link.after)) yield link.entry;
  }

  get size(): number {
    return this.#links.size - 1;
  }

  has(number: number): boolean {
    return this.#links.has(number);
  }

  get(number: number): StoredMessage | undefined {
    return this.#links.get(number)?.entry;
  }

  numberBefore(number: number): number | undefined {
    return this.#links.get(number)?.before;
  }

  /** Finds the messages in a range by the range or by the history, whichever is smaller. */
  #numbersIn(from: number, to: number): readonly number[] {
    if (to - from >= this.size)
      return [...this.#links.entries().keys()].filter(
        (number) => number !== end && number >= from && number <= to,
      ) as number[];
    const numbers: number[] = [];
    for (let number = from; number <= to; number++) if (this.has(number)) numbers.push(number);
    return numbers;
  }

  #insert(entry: StoredMessage, after: number | undefined): void {
    const { number } = entry;
    if (this.has(number)) throw new UnreadableValueError(`message ${number} is in the history twice`);
    const before = this.#links.get(after)?.before;
    this.#links.set(number, { entry, before, after });
    this.#join(before, number);
    this.#join(number, after);
  }

  #remove(number: number): readonly StoredMessage[] {
    const link = this.#links.get(number);
    if (link?.entry === undefined) return [];
    this.#links.delete(number);
    this.#join(link.before, link.after);
    return [link.entry];
  }

  #join(before: number | undefined, after: number | undefined): void {
    const first = this.#links.own(before, copyOf);
    if (first) first.after = after;
    const second = this.#links.own(after, copyOf);
    if (second) second.before = before;
  }
}

/** Builds the message history of a lane from its records. Links messages only after an edit, to save time. */
export class HistoryFold {
  #entries: StoredMessage[];
  #linked: LinkedHistory | undefined;

  constructor(entries: readonly StoredMessage[] = []) {
    this.#entries = [...entries];
  }

  push(entry: StoredMessage): void {
    if (this.#linked) this.#linked.push(entry);
    else this.#entries.push(entry);
  }

  edit(edit: HistoryEdit<StoredMessage>): void {
    this.#linked ??= new LinkedHistory(this.#entries);
    this.#linked.edit(edit);
  }

  entries(): readonly StoredMessage[] {
    return [...(this.#linked?.from() ?? this.#entries)];
  }
}

export interface StoredMessage {
  readonly number: number;
  readonly message: StoredValue;
}

/** Removes ranges of messages, both ends included. Inserts other messages before a kept message or at the end. */
export interface HistoryEdit<Entry> {
  readonly remove: readonly (readonly [from: number, to: number])[];
  readonly insert: readonly Entry[];
  readonly before?: number;
}

/** Returns ranges of consecutive numbers. Skips unused numbers, which can belong to trimmed messages. */
export function numberRanges(numbers: Iterable<number>): HistoryEdit<never>["remove"] {
  const ranges: [from: number, to: number][] = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges;
}
