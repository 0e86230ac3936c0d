import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import type { HistoryEdit, StoredMessage } from "./storedHistory.ts";

/** A message between its neighbors; the end has none. */
interface Link {
  readonly entry: StoredMessage | undefined;
  before: Link;
  after: Link;
}

/** A history as a linked list: an edit costs what it changes, however long the history is. */
export class LinkedHistory {
  readonly #links = new Map<number, Link>();
  /** Comes after the last message and before the first. */
  readonly #end: Link;

  constructor(entries: Iterable<StoredMessage> = []) {
    const end = { entry: undefined } as unknown as Link;
    end.before = end;
    end.after = end;
    this.#end = end;
    for (const entry of entries) this.push(entry);
  }

  push(entry: StoredMessage): void {
    this.#insert(entry, this.#end);
  }

  /** Absent numbers are ignored. @returns the messages that were removed. */
  edit({ remove, insert, before }: HistoryEdit<StoredMessage>): readonly StoredMessage[] {
    const removed = remove.flatMap(([from, to]) => this.#numbersIn(from, to).flatMap((number) => this.#remove(number)));
    const next = (before === undefined ? undefined : this.#links.get(before)) ?? this.#end;
    for (const entry of insert) this.#insert(entry, next);
    return removed;
  }

  /** The messages in order, from one on. Default: from the first. */
  *from(number?: number): Generator<StoredMessage> {
    let link = number === undefined ? this.#end.after : (this.#links.get(number) ?? this.#end);
    for (; link.entry !== undefined; link = link.after) yield link.entry;
  }

  get size(): number {
    return this.#links.size;
  }

  has(number: number): boolean {
    return this.#links.has(number);
  }

  get(number: number): StoredMessage | undefined {
    return this.#links.get(number)?.entry;
  }

  /** The number of the message before one; `undefined` for the first. */
  numberBefore(number: number): number | undefined {
    return this.#links.get(number)?.before.entry?.number;
  }

  /** A range may span many absent numbers: those that are there are then fewer. */
  #numbersIn(from: number, to: number): readonly number[] {
    if (to - from >= this.#links.size)
      return [...this.#links.keys()].filter((number) => number >= from && number <= to);
    const numbers: number[] = [];
    for (let number = from; number <= to; number++) if (this.#links.has(number)) numbers.push(number);
    return numbers;
  }

  #insert(entry: StoredMessage, after: Link): void {
    // Walks from message to message would go round in circles.
    if (this.#links.has(entry.number))
      throw new UnreadableValueError(`message ${entry.number} is in the history twice`);
    const link: Link = { entry, before: after.before, after };
    link.before.after = link;
    after.before = link;
    this.#links.set(entry.number, link);
  }

  #remove(number: number): readonly StoredMessage[] {
    const link = this.#links.get(number);
    if (link?.entry === undefined) return [];
    link.before.after = link.after;
    link.after.before = link.before;
    this.#links.delete(number);
    return [link.entry];
  }
}
