import { LinkedHistory, type HistoryEdit, numberRanges, type StoredMessage } from "../messages/LinkedHistory.ts";

export interface HistoryChanges {
  readonly edits: readonly HistoryEdit<StoredMessage>[];
  readonly appended: readonly StoredMessage[];
}

/**
 * A history with its changes since a start point. The cost of a change does not depend on the length of the history.
 */
export class HistorySpan {
  readonly history: LinkedHistory;
  #added = new Map<number, number>();
  #removed = new Set<number>();

  constructor(history = new LinkedHistory()) {
    this.history = history;
  }

  copy(): HistorySpan {
    return this.#fork(new LinkedHistory(this.history.from()));
  }

  /** Returns a new span with the same start and history. Do not change this span while the new span is in use. */
  layered(): HistorySpan {
    return this.#fork(this.history.layered());
  }

  #fork(history: LinkedHistory): HistorySpan {
    const fork = new HistorySpan(history);
    fork.#added = new Map(this.#added);
    fork.#removed = new Set(this.#removed);
    return fork;
  }

  push(entry: StoredMessage, lane: number): void {
    this.history.push(entry);
    this.#added.set(entry.number, lane);
  }

  edit(edit: HistoryEdit<StoredMessage>, lane: number): readonly number[] {
    const removed = this.history.edit(edit).map(({ number }) => number);
    for (const number of removed) if (!this.#added.delete(number)) this.#removed.add(number);
    for (const { number } of edit.insert) this.#added.set(number, lane);
    return removed;
  }

  laneOf(number: number): number | undefined {
    return this.#added.get(number);
  }

  get touched(): readonly number[] {
    return [...this.#added.keys(), ...this.#removed];
  }

  changes(): HistoryChanges {
    return changesTo(this.history, this.#removed, new Set(this.#added.keys()));
  }

  restart(): void {
    this.#added = new Map();
    this.#removed = new Set();
  }
}

/**
 * Returns the changes that turn one history into the other.
 *
 * @param touched The numbers of all messages that can differ or have moved.
 */
export function differences(from: LinkedHistory, to: LinkedHistory, touched: ReadonlySet<number>): HistoryChanges {
  const inBoth = [...touched].filter((number) => from.has(number) && to.has(number));
  const isMoved = inBoth.some((number) => lastCommon(from, number, to) !== lastCommon(to, number, from));
  // If one message has moved, all touched messages are inserted again.
  const stays = (number: number) => !isMoved && from.has(number) && to.has(number);
  const changed = [...touched].filter((number) => !stays(number));
  return changesTo(
    to,
    new Set(changed.filter((number) => from.has(number))),
    new Set(changed.filter((number) => to.has(number))),
  );
}

function lastCommon(history: LinkedHistory, number: number, other: LinkedHistory): number | undefined {
  let before = history.numberBefore(number);
  while (before !== undefined && !other.has(before)) before = history.numberBefore(before);
  return before;
}

function changesTo(history: LinkedHistory, removed: Iterable<number>, added: ReadonlySet<number>): HistoryChanges {
  const edits: HistoryEdit<StoredMessage>[] = [];
  let appended: readonly StoredMessage[] = [];
  const remove = numberRanges(removed);
  if (remove.length > 0) edits.push({ remove, insert: [] });
  for (const { insert, before } of runsOf(history, added))
    if (before === undefined) appended = insert;
    else edits.push({ remove: [], insert, before });
  return { edits, appended };
}

function* runsOf(
  history: LinkedHistory,
  added: ReadonlySet<number>,
): Generator<{ readonly insert: readonly StoredMessage[]; readonly before: number | undefined }> {
  const seen = new Set<number>();
  for (const number of [...added].sort((a, b) => a - b)) {
    if (seen.has(number)) continue;
    const insert: StoredMessage[] = [];
    let before: number | undefined;
    for (const entry of history.from(firstOfRun(history, number, added))) {
      before = added.has(entry.number) ? undefined : entry.number;
      if (before !== undefined) break;
      insert.push(entry);
      seen.add(entry.number);
    }
    yield { insert, before };
  }
}

function firstOfRun(history: LinkedHistory, number: number, added: ReadonlySet<number>): number {
  let first = number;
  for (let before = history.numberBefore(first); before !== undefined && added.has(before);) {
    first = before;
    before = history.numberBefore(first);
  }
  return first;
}
