import { LinkedHistory } from "../messages/LinkedHistory.ts";
import type { StoredMessage } from "../messages/storedHistory.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import { answerKey } from "../records/Visit.ts";
import type { AnswerRecord } from "../records/callRecords.ts";
import type { DecisionRecord, EditRecord, LaneRecord } from "../records/lineRecords.ts";
import { withRecord } from "../state/StateFold.ts";
import type { RecordedCall } from "../state/AgentState.ts";
import { byValue } from "../state/leanState.ts";
import { envelopeKeyOf, type StoredValue } from "../values/valueCodec.ts";

type Keep = LaneRecord["keep"];
type Latest = { [Kind in "settings" | "requirements"]?: Extract<AgentRecord, { kind: Kind }> };

/**
 * Walks along a lane, and across the lanes that begin from it, and tells what changed since the last checkpoint that is kept.
 * A record costs what it changes.
 */
export class StateSpan {
  /** What of the state at its start still counts, after the lanes that it crosses. */
  keep: Keep = "all";
  #history = new LinkedHistory();
  /** Messages by number that are new since the start, with the lane that they stand on. */
  #added = new Map<number, number>();
  /** What messages are that refer to answers or calls, by number. */
  #values = new Map<number, StoredValue>();
  /** Numbers of messages that were there at the start and are gone. */
  #removed: number[] = [];
  #edits = { trims: 0, others: 0 };
  #storage = new Map<string, StoredValue>();
  /** The values at the start of the keys that were written or deleted. */
  #storageBefore = new Map<string, StoredValue>();
  #latest: Latest = {};
  #latestBefore: Latest = {};
  #decisions: DecisionRecord[] = [];
  #answers = new Map<string, AnswerRecord>();
  #calls = new Map<string, RecordedCall>();

  /** Another one from here, for one of several lanes that begin here. */
  fork(): StateSpan {
    const fork = new StateSpan();
    fork.keep = this.keep;
    fork.#history = new LinkedHistory(this.#history.from());
    fork.#added = new Map(this.#added);
    fork.#values = new Map(this.#values);
    fork.#removed = [...this.#removed];
    fork.#edits = { ...this.#edits };
    fork.#storage = new Map(this.#storage);
    fork.#storageBefore = new Map(this.#storageBefore);
    fork.#latest = { ...this.#latest };
    fork.#latestBefore = { ...this.#latestBefore };
    fork.#decisions = [...this.#decisions];
    fork.#answers = new Map(this.#answers);
    fork.#calls = new Map(this.#calls);
    return fork;
  }

  /** A lane begins with what it keeps of the one before. */
  beginLane(keep: Keep): void {
    if (keep === "all") return;
    this.#storage = new Map();
    this.#storageBefore = new Map();
    this.#latest = {};
    this.#latestBefore = {};
    this.#decisions = [];
    // What messages refer to was resolved when they came.
    this.#answers = new Map();
    this.#calls = new Map();
    if (this.keep !== "nothing") this.keep = keep;
    if (keep === "history") return;
    this.#history = new LinkedHistory();
    this.#added = new Map();
    this.#values = new Map();
    this.#removed = [];
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

  /** A value that refers to nothing but blobs. */
  valueOf(slot: StoredValue): StoredValue {
    if (envelopeKeyOf(slot) !== "$message") return this.#resolved(slot);
    const number = (slot as { readonly $message: number }).$message;
    return this.#values.get(number) ?? this.#history.get(number)?.message ?? slot;
  }

  /** The fewest records that lead to here from the start, as records of a lane. Then a new span starts. */
  takeDelta(lane: number): AgentRecord[] {
    const delta = [...this.#historyDelta(lane), ...this.#storageDelta(lane), ...this.#latestDelta(lane)];
    const decisions = this.#decisions;
    this.keep = "all";
    this.#added = new Map();
    this.#removed = [];
    this.#edits = { trims: 0, others: 0 };
    this.#storageBefore = new Map();
    this.#latestBefore = this.#latest;
    this.#decisions = [];
    return [...delta, ...decisions];
  }

  #push(lane: number, entry: StoredMessage): void {
    this.#history.push(entry);
    this.#note(lane, entry);
  }

  #edit(edit: EditRecord): void {
    for (const { number } of this.#history.edit(edit)) {
      this.#values.delete(number);
      if (!this.#added.delete(number)) this.#removed.push(number);
    }
    for (const entry of edit.insert) this.#note(edit.lane, entry);
    this.#edits[edit.trim ? "trims" : "others"]++;
  }

  #note(lane: number, { number, message }: StoredMessage): void {
    this.#added.set(number, lane);
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
    if (record.kind === "answer") this.#answers.set(answerKey(record.visit, record.ordinal, record.within), record);
    else if (record.kind === "intent" || record.kind === "outcome")
      this.#calls.set(record.call, withRecord(this.#calls.get(record.call), record, order));
  }

  /** What stays never changes its place, since a message that is moved gets another number. */
  #historyDelta(lane: number): AgentRecord[] {
    const { trims, others } = this.#edits;
    const trim = trims > 0 && others === 0 ? ({ trim: true } as const) : {};
    const edits: EditRecord[] = [];
    let appended: readonly StoredMessage[] = [];
    const remove = this.#removed.map((number) => [number, number] as const);
    if (remove.length > 0) edits.push({ kind: "edit", lane, remove, insert: [], ...trim });
    for (const { entries, before } of this.#addedRuns()) {
      const insert = entries.map((entry) => this.#onLane(entry, lane));
      if (before === undefined) appended = insert;
      else edits.push({ kind: "edit", lane, remove: [], insert, before, ...trim });
    }
    return [...edits, ...appended.map((entry) => ({ kind: "message", lane, ...entry }) as const)];
  }

  /** The new messages, those next to each other together, each with the number of the message after them. */
  *#addedRuns(): Generator<{ readonly entries: readonly StoredMessage[]; readonly before: number | undefined }> {
    const seen = new Set<number>();
    for (const number of this.#added.keys()) {
      if (seen.has(number)) continue;
      const entries: StoredMessage[] = [];
      let before: number | undefined;
      for (const entry of this.#history.from(this.#firstOfRun(number))) {
        before = this.#added.has(entry.number) ? undefined : entry.number;
        if (before !== undefined) break;
        entries.push(entry);
        seen.add(entry.number);
      }
      yield { entries, before };
    }
  }

  #firstOfRun(number: number): number {
    let first = number;
    for (let before = this.#history.numberBefore(first); before !== undefined && this.#added.has(before);) {
      first = before;
      before = this.#history.numberBefore(first);
    }
    return first;
  }

  /** What a message of another lane refers to may be gone with that lane. */
  #onLane({ number, message }: StoredMessage, lane: number): StoredMessage {
    return this.#added.get(number) === lane
      ? { number, message }
      : { number, message: this.#values.get(number) ?? message };
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
