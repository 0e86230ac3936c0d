import type { AgentInputItem, SessionHistoryMutation } from "@openai/agents-core";
import { blobCellsOf } from "../../../checkpoint/records/blobReferences.ts";
import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";
import { countOf, hasNumber, itemsOfRange, joinedRanges, type NumberRange, rangesOf, sliceOf } from "./NumberRange.ts";

/** Replaces items of a session. Added, removed and changed items all have this record. */
interface SpliceRecord {
  readonly kind: "splice";
  /** The index of the first removed item, or of the insertion, counted from 0. */
  readonly at: number;
  /** The number of removed items. Defaults to 0. */
  readonly drop?: number;
  readonly items?: readonly StoredValue[];
  /** The number of the first new item. Defaults to the next unused number. */
  readonly first?: number;
}

/** Names an applied transaction. Stored in the same append as the transaction's change. */
interface TransactionRecord {
  readonly kind: "transaction";
  readonly operation: string;
  /** A digest of the transaction, to detect a different transaction with the same id. */
  readonly digest: string;
}

/** Removes all items and transactions. The numbers of items and the progress of runs continue. */
interface ClearRecord {
  readonly kind: "clear";
  readonly next: number;
}

/** How far a durable run has changed the session. Stored in the same append as the run's last change. */
interface ProgressRecord {
  readonly kind: "progress";
  /** Identifies the run and, if a tool call uses the session, that call. */
  readonly run: string;
  /**
   * How many changes the run has made. Each added item and each other change counts one. A lower number than before
   * means that the run was set back, and makes its later changes again.
   */
  readonly done: number;
  /** The numbers of the items that the run added since its last record. */
  readonly added?: readonly NumberRange[];
  /** The numbers of all removed items, if the change cleared the session. Omitted if the change only added items. */
  readonly dropped?: readonly NumberRange[];
}

/** The provider's ids of calls that durable runs added. Stored in the same append as the items of the calls. */
interface CallIdsRecord {
  readonly kind: "call_ids";
  readonly ids: readonly CallId[];
}

/** The id of a call in the session, and the id from the provider, which need not be unique. */
export type CallId = readonly [call: string, provided: string];

export type SessionRecord = SpliceRecord | TransactionRecord | ClearRecord | ProgressRecord | CallIdsRecord;

/** A stored item. Its number never changes. */
export interface SessionItem {
  readonly number: number;
  readonly value: StoredValue;
}

/** The number of runs without items whose progress is kept, because they can be resumed. */
const mostRunsWithoutItems = 100;

/** The items of a session in order, and its applied transactions. */
export class SessionState {
  #items: SessionItem[] = [];
  #next = 0;
  readonly #transactions = new Map<string, string>();
  readonly #progress = new Map<string, RunProgress>();
  /** The items that the last record removed. */
  #removed: readonly SessionItem[] = [];
  readonly #callIds = new Map<string, string>();

  get items(): readonly SessionItem[] {
    return this.#items;
  }

  digestOf(operation: string): string | undefined {
    return this.#transactions.get(operation);
  }

  get callIds(): readonly CallId[] {
    return [...this.#callIds];
  }

  get next(): number {
    return this.#next;
  }

  progressOf(run: string): RunProgress {
    return this.#progress.get(run) ?? new RunProgress();
  }

  /** Returns all items by number, including removed items that the rollback of a run restores. */
  get known(): ReadonlyMap<number, SessionItem> {
    const removed = [...this.#progress.values()].flatMap((progress) => progress.removed);
    return new Map([...removed, ...this.#items].map((item) => [item.number, item]));
  }

  /** @throws RangeError if the record contradicts earlier records */
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
    this.#forgetUnused();
    yield* insertions(this.#items);
    const last = this.#items.at(-1)?.number ?? -1;
    if (this.#next > last + 1) yield { kind: "splice", at: this.#items.length, first: this.#next };
    for (const [operation, digest] of this.#transactions) yield { kind: "transaction", operation, digest };
    // Runs that removed items are last, because their records make other runs forget removed items.
    const restoresLast = [...this.#progress].sort(([, a], [, b]) => a.removed.length - b.removed.length);
    for (const [run, progress] of restoresLast) yield* progress.restate(run);
    if (this.#callIds.size > 0) yield { kind: "call_ids", ids: this.callIds };
  }

  #splice({ at, drop = 0, items = [], first = this.#next }: SpliceRecord): void {
    const { length } = this.#items;
    if (at + drop > length)
      throw new RangeError(`items ${at} to ${at + drop} are removed, but there are only ${length} items`);
    if (first + items.length > Number.MAX_SAFE_INTEGER) throw new RangeError(`item number ${first} is too high`);
    const added = items.map((value, index) => ({ number: first + index, value }));
    this.#removed = this.#items.slice(at, at + drop);
    if (at === length) for (const item of added) this.#items.push(item);
    else this.#items = [...this.#items.slice(0, at), ...added, ...this.#items.slice(at + drop)];
    // A replacement has a higher number than the items after it.
    this.#next = Math.max(this.#next, first + added.length);
  }

  #proceed(record: ProgressRecord): void {
    const { run, done, dropped } = record;
    const progress = this.progressOf(run);
    if (done < progress.done || done === 0) this.#setBack(run);
    if (dropped) for (const other of this.#progress.values()) if (other !== progress) other.forgetRemoved();
    progress.add(record, this.#removed);
    if (done === 0) this.#progress.delete(run);
    else this.#progress.set(run, progress);
    this.#removed = [];
  }

  /** Forgets changes and call ids whose items are gone. For the newest runs, keeps the number of changes. */
  #forgetUnused(): void {
    const { known } = this;
    const withoutItems = [...this.#progress].filter(([, progress]) => progress.forgetChanges(known));
    for (const [run] of withoutItems.slice(0, -mostRunsWithoutItems)) this.#progress.delete(run);
    const values = [...known.values()].map(({ value }) => value);
    if (this.#callIds.size === 0 || values.some((value) => blobCellsOf(value).length > 0)) return;
    const text = JSON.stringify(values);
    for (const [call] of this.callIds) if (!text.includes(JSON.stringify(call))) this.#callIds.delete(call);
  }

  /** Removes the transactions of a run, because the run applies them again. */
  #setBack(run: string): void {
    for (const operation of this.#transactions.keys())
      if (operation.startsWith(`${run}#`)) this.#transactions.delete(operation);
  }

  #clear({ next }: ClearRecord): void {
    if (next < this.#next) throw new RangeError(`the next item number ${next} is lower than ${this.#next}`);
    this.#removed = this.#items;
    this.#items = [];
    this.#next = next;
    this.#transactions.clear();
    this.#callIds.clear();
  }
}

/** One change of a run, or several changes in a row that only added items. */
interface RunStep {
  /** The number of changes that the run made before this step. */
  readonly from: number;
  readonly done: number;
  readonly added: readonly NumberRange[];
  readonly dropped?: readonly NumberRange[] | undefined;
  /** The removed items. Omitted after a pruning, or if other changes replaced all items. */
  items?: readonly SessionItem[] | undefined;
}

/** The changes that a durable run has made to a session. */
class RunProgress {
  #steps: RunStep[] = [];

  get done(): number {
    return this.#steps.at(-1)?.done ?? 0;
  }

  /** The removed items that a rollback of the run can restore. */
  get removed(): readonly SessionItem[] {
    return this.#steps.flatMap(({ items = [] }) => items);
  }

  forgetRemoved(): void {
    for (const step of this.#steps) step.items = undefined;
  }

  /** Forgets the changes of a run, but not their number, if none of their items is stored. Returns `true` if so. */
  forgetChanges(known: ReadonlyMap<number, SessionItem>): boolean {
    const { done } = this;
    const isKnown = (range: NumberRange): boolean => itemsOfRange(known, range).length > 0;
    const isUsed = this.#steps.some(({ added, items }) => items?.length || added.some(isKnown));
    if (!isUsed) this.#steps = [{ from: 0, done, added: [] }];
    return !isUsed;
  }

  /** @param removed - the items that the change removed. */
  add({ done, added = [], dropped }: ProgressRecord, removed: readonly SessionItem[]): void {
    if (done < this.done) return this.#cut(done);
    const step: RunStep = { from: this.done, done, added };
    const last = this.#steps.at(-1);
    if (dropped) {
      const items = removed.filter(({ number }) => hasNumber(dropped, number));
      this.#steps.push({ ...step, dropped, items });
    } else if (last && onlyAdds(last) && onlyAdds(step))
      this.#steps[this.#steps.length - 1] = { from: last.from, done, added: joinedRanges(last.added, added) };
    else this.#steps.push(step);
  }

  /** Returns the number of an added item, or the numbers of a replacement. `undefined` if the change is forgotten. */
  at(position: number): number | readonly NumberRange[] | undefined {
    const step = this.#steps.find(({ from, done }) => position >= from && position < done);
    if (!step) return undefined;
    if (step.dropped) return step.added;
    return onlyAdds(step) ? sliceOf(step.added, position - step.from)[0]?.[0] : undefined;
  }

  /** Returns the records that undo the changes from a number on. Removed items that are lost are not restored. */
  undone(items: readonly SessionItem[], before: number): SpliceRecord[] {
    let left = items;
    const records: SpliceRecord[] = [];
    for (const step of this.#steps.toReversed()) {
      if (step.done <= before) break;
      if (step.dropped && step.items?.length !== countOf(step.dropped)) continue;
      const added = onlyAdds(step) ? sliceOf(step.added, before - step.from) : step.added;
      // The last item is removed first, so that the positions of the others stay valid.
      for (const [at, { number }] of [...left.entries()].toReversed())
        if (hasNumber(added, number)) records.push({ kind: "splice", at, drop: 1 });
      const restored = step.items ?? [];
      records.push(...insertions(restored));
      left = [...restored, ...left.filter(({ number }) => !hasNumber(added, number))];
    }
    return records;
  }

  *restate(run: string): Iterable<SessionRecord> {
    for (const { done, added, dropped, items = [] } of this.#steps) {
      if (items.length > 0) yield* [...insertions(items), { kind: "splice", at: 0, drop: items.length } as const];
      yield {
        kind: "progress",
        run,
        done,
        ...(added.length > 0 && { added }),
        ...(dropped && { dropped }),
      };
    }
  }

  #cut(done: number): void {
    this.#steps = this.#steps.flatMap((step) => {
      if (step.done <= done) return [step];
      return step.from < done ? [{ ...step, done, added: sliceOf(step.added, 0, done - step.from) }] : [];
    });
  }
}

function onlyAdds({ from, done, added, dropped }: RunStep): boolean {
  return !dropped && countOf(added) === done - from;
}

function insertions(items: readonly SessionItem[]): SpliceRecord[] {
  let at = 0;
  return rangesOf(items).map(([first, last]) => {
    const from = at;
    at += last - first + 1;
    return { kind: "splice", at: from, first, items: items.slice(from, at).map(({ value }) => value) };
  });
}

export type SessionChange =
  | { readonly type: "add"; readonly items: readonly AgentInputItem[] }
  | { readonly type: "suffix"; readonly drop: number; readonly items: readonly AgentInputItem[] }
  | { readonly type: "replace"; readonly items: readonly AgentInputItem[] }
  | { readonly type: "pop" }
  | { readonly type: "clear" };

type Encode = (item: AgentInputItem) => StoredValue;

/** Returns the records of a change. The list is empty if the change has no effect. */
export function recordsOf(state: SessionState, change: SessionChange, encode: Encode): SessionRecord[] {
  const { length } = state.items;
  switch (change.type) {
    case "add":
      return splice(length, 0, change.items.map(encode));
    case "suffix":
      return splice(length - change.drop, change.drop, change.items.map(encode));
    case "replace":
      return splice(0, length, change.items.map(encode));
    case "pop":
      return length === 0 ? [] : splice(length - 1, 1, []);
    case "clear":
      return [{ kind: "clear", next: state.next }];
  }
}

/**
 * Returns the records that replace function calls. A new call replaces all calls with its id, at the first one.
 *
 * @param items the items of the session in order
 */
export function mutationRecords(
  items: readonly AgentInputItem[],
  mutations: readonly SessionHistoryMutation[],
  encode: Encode,
): SessionRecord[] {
  const records: SessionRecord[] = [];
  const current = [...items];
  for (const { callId, replacement } of mutations) {
    const isCall = (item: AgentInputItem) => item.type === "function_call" && item.callId === callId;
    const first = current.findIndex(isCall);
    if (first < 0) continue;
    for (let at = current.length - 1; at > first; at--) {
      if (!isCall(current[at] as AgentInputItem)) continue;
      records.push(...splice(at, 1, []));
      current.splice(at, 1);
    }
    records.push(...splice(first, 1, [encode(replacement)]));
    current[first] = replacement;
  }
  return records;
}

function splice(at: number, drop: number, items: readonly StoredValue[]): SpliceRecord[] {
  if (drop === 0 && items.length === 0) return [];
  return [{ kind: "splice", at, ...(drop > 0 && { drop }), ...(items.length > 0 && { items }) }];
}
