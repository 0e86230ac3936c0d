import type { Message } from "../../checkpoint/messages/Message.ts";
import type { NumberedMessage } from "../../checkpoint/messages/MessageHistory.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Decision, Requirements } from "../context/AgentContext.ts";
import type { RunSettings, RunState } from "./RunState.ts";

/** The changes that a tool made to the state of its run. They are stored with the outcome of the call. */
export interface StateChanges extends ListedChanges {
  /** The new values by storage key. */
  readonly storage?: Readonly<Record<string, unknown>>;
  /** The deleted storage keys. */
  readonly deleted?: readonly string[];
  readonly settings?: Partial<RunSettings>;
  readonly progress?: { readonly percent: number; readonly summary?: string };
}

interface ListedChanges {
  readonly history?: readonly HistoryStep[];
  readonly decisions?: readonly Decision[];
  readonly requirements?: readonly Requirements[];
}

/**
 * A change of the message history: new messages after the first `at` messages, a new history in place of the first `of`
 * messages, or the history at the end of the call. A pair is a range of the old history, its end excluded.
 */
export type HistoryStep = LiveStep | HistoryResult;

type LiveStep =
  | { readonly at: number; readonly messages: readonly Message[] }
  | { readonly of: number; readonly parts: readonly (Range | Message)[] };

/**
 * The history at the end of the last of several calls that changed it at the same time, if one of them rewrote it. The
 * steps do not suffice, because a replay repeats them call by call. A pair is a range of the history at the node's start.
 */
export interface HistoryResult {
  readonly result: readonly (Range | Message)[];
  /** The messages that one of the calls removed. The node repeats those that the node itself has added. */
  readonly removed: readonly Message[];
}

/** New changes. The state already has the new values of the slots. */
export interface NewChanges extends ListedChanges {
  readonly slots?: readonly Slot[];
}

/** A part of the state of which only the last value counts. */
export type Slot = "progress" | keyof RunSettings | `storage ${string}`;

/** The last value of each slot. `undefined` for a deleted storage key. */
type SlotValues = Map<Slot, { readonly value: unknown } | undefined>;

interface MadeChanges {
  readonly slots: SlotValues;
  readonly lists: ListedChanges[];
}

/** Notes which tool call made which change of a run's state, so that a replay of the call makes the change again. */
export class CallChanges {
  readonly #state: RunState;
  /** The history at the start of the node. */
  readonly start: Entries;
  readonly #byCall = new Map<string, MadeChanges>();
  /** By slot: the calls that made the last change, innermost first. Empty if the node itself made the change. */
  readonly #writers = new Map<Slot, readonly string[]>();
  readonly #ended = new Set<string>();
  /** The outermost calls, or `undefined` for the node, that changed the history since none of these calls ran. */
  readonly #together = new Set<string | undefined>();
  /** The entries that these calls removed. `undefined` if they only appended. */
  #removed: NumberedMessage[] | undefined;

  /** @param state The state during the node. A move gives the run another one. */
  constructor(state: RunState, start: Entries) {
    this.#state = state;
    this.start = start;
  }

  /** @param calls The call that made the changes, and the calls around it. Empty for the node itself. */
  note(calls: readonly string[], { slots = [], ...lists }: NewChanges): void {
    for (const slot of slots) this.#writers.set(slot, calls);
    for (const call of calls) {
      const made: MadeChanges = this.#byCall.get(call) ?? { slots: new Map(), lists: [] };
      this.#byCall.set(call, made);
      for (const slot of slots) made.slots.set(slot, this.#valueOf(slot));
      if (lists.history ?? lists.decisions ?? lists.requirements) made.lists.push(frozenCopy(lists));
    }
  }

  /** Makes a change of the history and notes the difference. */
  noteHistory(calls: readonly string[], change: () => void): void {
    const { history } = this.#state;
    const { entries: before, length } = history;
    change();
    const step = historyStep(before, length, history.entries);
    if (!step) return;
    const outermost = calls.at(-1);
    if (outermost !== undefined || this.#together.size > 0) this.#together.add(outermost);
    if ("of" in step) (this.#removed ??= []).push(...without(before, history.entries));
    this.note(calls, { history: [step] });
  }

  /** Returns the changes of a call that has ended. Omits slots that the node, or a call that ended before, overwrote. */
  take(call: string): StateChanges | undefined {
    this.#ended.add(call);
    const made = this.#byCall.get(call);
    if (!made) return undefined;
    this.#byCall.delete(call);
    for (const slot of made.slots.keys()) if (this.#isOverwritten(slot, call)) made.slots.delete(slot);
    const { lists } = made;
    const changes = withoutUndefined({
      ...changesOfSlots(made.slots),
      history: listed([...lists.flatMap(({ history = [] }) => history), ...this.#resultAt(call)]),
      decisions: listed(lists.flatMap(({ decisions = [] }) => decisions)),
      requirements: listed(lists.flatMap(({ requirements = [] }) => requirements)),
    });
    return Object.keys(changes).length > 0 ? changes : undefined;
  }

  #resultAt(call: string): readonly HistoryResult[] {
    const together = this.#together;
    if (!together.has(call) || ![...together].every((each = call) => this.#ended.has(each))) return [];
    const removed = together.size > 1 && this.#removed;
    together.clear();
    this.#removed = undefined;
    if (!removed) return [];
    const result = partsOf(this.start, this.#state.history.entries);
    return [{ result, removed: without(removed, this.start).map(({ message }) => message) }];
  }

  #isOverwritten(slot: Slot, call: string): boolean {
    const writers = this.#writers.get(slot) ?? [];
    const outermost = writers.at(-1);
    return !writers.includes(call) && (outermost === undefined || this.#ended.has(outermost));
  }

  #valueOf(slot: Slot): { readonly value: unknown } | undefined {
    const { storage, settings, progress: percent = 0, progressSummary: summary } = this.#state;
    if (slot === "progress") return { value: withoutUndefined({ percent, summary }) };
    const key = keyOf(slot);
    if (key === undefined) return { value: settings[slot as keyof RunSettings] };
    return storage.values.has(key) ? { value: storage.values.get(key) } : undefined;
  }
}

function changesOfSlots(slots: SlotValues): Pick<StateChanges, "storage" | "deleted" | "settings" | "progress"> {
  const storage: (readonly [string, unknown])[] = [];
  const settings: (readonly [string, unknown])[] = [];
  const deleted: string[] = [];
  for (const [slot, set] of slots) {
    const key = keyOf(slot);
    if (key === undefined && slot !== "progress") settings.push([slot, set?.value]);
    if (key !== undefined && set) storage.push([key, set.value]);
    if (key !== undefined && !set) deleted.push(key);
  }
  return withoutUndefined({
    storage: listed(storage) && Object.fromEntries(storage),
    deleted: listed(deleted),
    settings: listed(settings) && Object.fromEntries(settings),
    progress: slots.get("progress")?.value as StateChanges["progress"],
  });
}

function keyOf(slot: Slot): string | undefined {
  return slot.startsWith(storageSlot("")) ? slot.slice(storageSlot("").length) : undefined;
}

export function storageSlot(key: string): Slot {
  return `storage ${key}`;
}

/** Returns a list, or `undefined` if it is empty. */
function listed<Item>(list: readonly Item[]): readonly Item[] | undefined {
  return list.length > 0 ? list : undefined;
}

type Entries = readonly NumberedMessage[];
type Range = readonly [from: number, to: number];

/**
 * Returns the step from one history to the next. `undefined` if no message changed.
 *
 * @param length The number of entries before. An append changes the same list.
 */
function historyStep(before: Entries, length: number, after: Entries): LiveStep | undefined {
  if (after !== before) return { of: length, parts: partsOf(before, after) };
  const messages = after.slice(length).map(({ message }) => message);
  return messages.length > 0 ? { at: length, messages } : undefined;
}

function without(entries: Entries, others: Entries): Entries {
  const numbers = new Set(others.map(({ number }) => number));
  return entries.filter(({ number }) => !numbers.has(number));
}

function partsOf(before: Entries, after: Entries): readonly (Range | Message)[] {
  const places = new Map(before.map(({ number }, place) => [number, place]));
  const parts: (Range | Message)[] = [];
  for (const { number, message } of after) {
    const place = places.get(number);
    const last = parts.at(-1);
    if (place === undefined) parts.push(message);
    else if (last && !("role" in last) && last[1] === place) parts[parts.length - 1] = [last[0], place + 1];
    else parts.push([place, place + 1]);
  }
  return parts;
}
