import { LinkedHistory, type HistoryEdit, type StoredMessage, numberRanges } from "../messages/LinkedHistory.ts";
import { LayeredMap } from "../../internal/LayeredMap.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import { answerKey } from "../records/Visit.ts";
import type { DecisionRecord, EditRecord, LaneRecord } from "../records/lineRecords.ts";
import { withRecord } from "../state/StateFold.ts";
import type { RecordedAnswer, RecordedCall } from "../state/AgentState.ts";
import { byValue } from "../state/leanState.ts";
import { envelopeKeyOf, type StoredValue } from "../values/valueCodec.ts";

type Keep = LaneRecord["keep"];

function keptAfter(first: Keep, second: Keep): Keep {
  if (first === "all" || first === second) return second;
  return second === "all" ? first : "nothing";
}

type Latest = { [Kind in "settings" | "requirements"]?: Extract<AgentRecord, { kind: Kind }> };

/** Collects the state changes on a lane since the last kept checkpoint. Each record is added at a constant cost. */
export class StateSpan {
  keep: Keep = "all";
  #originals = new HistorySpan();
  #trimmed: HistorySpan | undefined;
  /** The history that the kept records produce. `undefined` until a record trims the history. */
  #restated: LinkedHistory | undefined;
  #values = new LayeredMap<number, StoredValue>();
  #storage = new LayeredMap<string, StoredValue>();
  #storageBefore = new Map<string, StoredValue>();
  #latest: Latest = {};
  #latestBefore: Latest = {};
  #decisions: DecisionRecord[] = [];
  #answers = new LayeredMap<string, RecordedAnswer>();
  #calls = new LayeredMap<string, RecordedCall>();

  get copied(): number {
    const { history } = this.#originals;
    return (history.isCopied ? history.size : 0) + (this.#storage.isCopied ? this.#storage.size : 0);
  }

  /** Returns a copy for one of several lanes with the same start. Do not change this span while the copy is in use. */
  fork(): StateSpan {
    const fork = new StateSpan();
    fork.keep = this.keep;
    fork.#originals = this.#originals.layered();
    fork.#trimmed = this.#trimmed?.layered();
    fork.#restated = this.#restated?.layered();
    fork.#values = this.#values.layered();
    fork.#storage = this.#storage.layered();
    fork.#storageBefore = new Map(this.#storageBefore);
    fork.#latest = { ...this.#latest };
    fork.#latestBefore = { ...this.#latestBefore };
    fork.#decisions = [...this.#decisions];
    fork.#answers = this.#answers.layered();
    fork.#calls = this.#calls.layered();
    return fork;
  }

  beginLane(keep: Keep): void {
    if (keep === "all") return;
    this.keep = keptAfter(this.keep, keep);
    // Messages that refer to these responses and calls were resolved when they were added.
    this.#answers = new LayeredMap();
    this.#calls = new LayeredMap();
    if (keep !== "state") this.#forgetRest();
    if (keep !== "history") this.#forgetHistory();
  }

  #forgetRest(): void {
    this.#storage = new LayeredMap();
    this.#storageBefore = new Map();
    this.#latest = {};
    this.#latestBefore = {};
    this.#decisions = [];
  }

  #forgetHistory(): void {
    this.#originals = new HistorySpan();
    this.#trimmed = undefined;
    this.#restated = undefined;
    this.#values = new LayeredMap();
  }

  add(record: AgentRecord, order: number): void {
    switch (record.kind) {
      case "message":
        return this.#push(record.lane, { number: record.number, message: record.message });
      case "edit":
        return this.#edit(record);
      case "storage":
        return this.#store(record.key, "value" in record ? record.value : undefined);
      case "settings":
      case "requirements":
        this.#latest = { ...this.#latest, [record.kind]: record };
        return;
      case "decision":
        this.#decisions.push(record);
        return;
      default:
        return this.#addToCalls(record, order);
    }
  }

  valueOf(slot: StoredValue): StoredValue {
    if (envelopeKeyOf(slot) !== "$message") return this.#resolved(slot);
    const number = (slot as { readonly $message: number }).$message;
    return (
      this.#values.get(number) ??
      this.#histories().flatMap(({ history }) => history.get(number)?.message ?? [])[0] ??
      slot
    );
  }

  /** Returns the fewest records that make the collected changes on a lane, and starts to collect again. */
  takeDelta(lane: number): AgentRecord[] {
    const delta = [...this.#historyDelta(lane), ...this.#storageDelta(lane), ...this.#latestDelta(lane)];
    const decisions = this.#decisions;
    this.keep = "all";
    for (const span of this.#histories()) span.restart();
    this.#storageBefore = new Map();
    this.#latestBefore = this.#latest;
    this.#decisions = [];
    return [...delta, ...decisions];
  }

  #histories(): readonly HistorySpan[] {
    return this.#trimmed ? [this.#trimmed, this.#originals] : [this.#originals];
  }

  #push(lane: number, entry: StoredMessage): void {
    for (const span of this.#histories()) span.push(entry, lane);
    this.#note(entry);
  }

  #edit(edit: EditRecord): void {
    if (edit.trim) this.#trimmed ??= this.#originals.copy();
    const spans = this.#histories();
    const removed = spans.flatMap((span) => (edit.trim && span === this.#originals ? [] : span.edit(edit, edit.lane)));
    for (const number of removed) if (!spans.some(({ history }) => history.has(number))) this.#values.delete(number);
    for (const entry of edit.insert) this.#note(entry);
  }

  #note({ number, message }: StoredMessage): void {
    const value = this.#resolved(message);
    if (value !== message) this.#values.set(number, value);
  }

  #resolved(slot: StoredValue): StoredValue {
    return byValue(slot, { answers: this.#answers, calls: this.#calls });
  }

  #store(key: string, value: StoredValue): void {
    if (!this.#storageBefore.has(key)) this.#storageBefore.set(key, this.#storage.get(key));
    if (value === undefined) this.#storage.delete(key);
    else this.#storage.set(key, value);
  }

  #addToCalls(record: AgentRecord, order: number): void {
    if (record.kind === "answer")
      this.#answers.set(answerKey(record.visit, record.ordinal, record.within), { ...record, order });
    else if (record.kind === "intent" || record.kind === "outcome")
      this.#calls.set(record.call, withRecord(this.#calls.get(record.call), record, order));
  }

  /** Puts changes of the original history before trims, because readers of the original history skip trims. */
  #historyDelta(lane: number): AgentRecord[] {
    const { edits, appended } = this.#originals.changes();
    const trims = this.#trims({ edits, appended });
    const editRecord = ({ insert, ...edit }: HistoryEdit<StoredMessage>, span: HistorySpan) => {
      const inserted = insert.map((entry) => this.#onLane(entry, lane, span));
      return { kind: "edit", lane, ...edit, insert: inserted } as const;
    };
    return [
      ...edits.map((edit) => editRecord(edit, this.#originals)),
      ...appended.map((entry) => ({ kind: "message", lane, ...this.#onLane(entry, lane, this.#originals) }) as const),
      ...trims.map((edit) => ({ ...editRecord(edit, this.#trimmed ?? this.#originals), trim: true }) as const),
    ];
  }

  #trims(changes: HistoryChanges): readonly HistoryEdit<StoredMessage>[] {
    const [originals, trimmed] = [this.#originals, this.#trimmed];
    if (!trimmed) return [];
    // No trim was kept so far, so the kept records produce the original history.
    if (this.#restated) apply(changes, this.#restated);
    const restated = (this.#restated ??= new LinkedHistory(originals.history.from()));
    const touched = new Set([...originals.touched, ...trimmed.touched]);
    const { edits, appended } = differences(restated, trimmed.history, touched);
    const trims = appended.length > 0 ? [...edits, { remove: [], insert: appended }] : edits;
    for (const trim of trims) restated.edit(trim);
    return trims;
  }

  /** Replaces a reference to another lane by the message, because that lane can be pruned. */
  #onLane({ number, message }: StoredMessage, lane: number, span: HistorySpan): StoredMessage {
    return { number, message: span.laneOf(number) === lane ? message : (this.#values.get(number) ?? message) };
  }

  #storageDelta(lane: number): AgentRecord[] {
    return [...this.#storageBefore].flatMap(([key, before]): readonly AgentRecord[] => {
      const value = this.#storage.get(key);
      if (value === before) return [];
      return [value === undefined ? { kind: "storage", lane, key } : { kind: "storage", lane, key, value }];
    });
  }

  #latestDelta(lane: number): AgentRecord[] {
    const { settings, requirements } = this.#latest;
    return [
      ...(settings && settings !== this.#latestBefore.settings ? [{ ...settings, lane }] : []),
      ...(requirements && requirements !== this.#latestBefore.requirements ? [{ ...requirements, lane }] : []),
    ];
  }
}

function apply({ edits, appended }: HistoryChanges, history: LinkedHistory): void {
  for (const edit of edits) history.edit(edit);
  for (const entry of appended) history.push(entry);
}

interface HistoryChanges {
  readonly edits: readonly HistoryEdit<StoredMessage>[];
  readonly appended: readonly StoredMessage[];
}

/** A message history that tracks its changes. The cost of a change does not depend on the length of the history. */
class HistorySpan {
  readonly history: LinkedHistory;
  #added = new Map<number, number>();
  #removed = new Set<number>();

  constructor(history = new LinkedHistory()) {
    this.history = history;
  }

  copy(): HistorySpan {
    return this.#fork(new LinkedHistory(this.history.from()));
  }

  /** Returns a copy that shares the messages. Do not change this history while the copy is in use. */
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

/** Returns the changes between two histories. `touched` contains all messages that can differ or have moved. */
function differences(from: LinkedHistory, to: LinkedHistory, touched: ReadonlySet<number>): HistoryChanges {
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
