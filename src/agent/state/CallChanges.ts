import { addToGroup } from "../../internal/addToGroup.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { NumberedMessage } from "../../checkpoint/messages/MessageHistory.ts";
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
 * A change of the message history: new messages after the first `at` messages, or a new history in place of the first
 * `of` messages. A pair in `parts` is a range of the old history, its end excluded.
 */
export type HistoryStep =
  | { readonly at: number; readonly messages: readonly Message[] }
  | { readonly of: number; readonly parts: readonly (Range | Message)[] };

/** New changes. The new values of slots are in the state. */
export interface NewChanges extends ListedChanges {
  readonly slots?: readonly Slot[];
}

/** A part of the state of which only the last value counts. */
export type Slot = "progress" | keyof RunSettings | `storage ${string}`;

/** Notes which tool call made which change of a run's state, so that a replay of the call makes the change again. */
export class CallChanges {
  readonly #byCall = new Map<string, NewChanges[]>();
  /** By slot: the calls that made the last change, innermost first. Empty if the node itself made the change. */
  readonly #writers = new Map<Slot, readonly string[]>();

  /** @param state The state during the node. A move gives the run another one. */
  constructor(readonly state: RunState) {}

  /** @param calls The call that made the changes, and the calls around it. Empty for the node itself. */
  note(calls: readonly string[], changes: NewChanges): void {
    for (const slot of changes.slots ?? []) this.#writers.set(slot, calls);
    for (const call of calls) addToGroup(this.#byCall, call, changes);
  }

  /** Returns and forgets the changes of a call. Omits slots that other code changed later. */
  take(call: string): StateChanges | undefined {
    const noted = this.#byCall.get(call);
    if (!noted) return undefined;
    this.#byCall.delete(call);
    const own = new Set(noted.flatMap(({ slots = [] }) => slots).filter((slot) => this.#isLast(slot, call)));
    return withoutUndefined({
      ...this.#valuesOf(own),
      history: listed(noted.flatMap(({ history = [] }) => history)),
      decisions: listed(noted.flatMap(({ decisions = [] }) => decisions)),
      requirements: listed(noted.flatMap(({ requirements = [] }) => requirements)),
    });
  }

  #isLast(slot: Slot, call: string): boolean {
    return this.#writers.get(slot)?.includes(call) === true;
  }

  #valuesOf(slots: ReadonlySet<Slot>): Pick<StateChanges, "storage" | "deleted" | "settings" | "progress"> {
    const { storage, settings, progress, progressSummary: summary } = this.state;
    const keys = [...slots].flatMap((slot) =>
      slot.startsWith(storageSlot("")) ? slot.slice(storageSlot("").length) : [],
    );
    const set = keys.filter((key) => storage.values.has(key)).map((key) => [key, storage.values.get(key)] as const);
    const fields = Object.entries(settings).filter(([field]) => slots.has(field as keyof RunSettings));
    return withoutUndefined({
      storage: set.length > 0 ? Object.fromEntries(set) : undefined,
      deleted: listed(keys.filter((key) => !storage.values.has(key))),
      settings: fields.length > 0 ? Object.fromEntries(fields) : undefined,
      progress:
        progress !== undefined && slots.has("progress") ? withoutUndefined({ percent: progress, summary }) : undefined,
    });
  }
}

export function storageSlot(key: string): Slot {
  return `storage ${key}`;
}

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
export function historyStep(before: Entries, length: number, after: Entries): HistoryStep | undefined {
  const added = after.slice(length).map(({ message }) => message);
  if (after === before) return added.length > 0 ? { at: length, messages: added } : undefined;
  const places = new Map(before.map(({ number }, place) => [number, place]));
  const parts: (Range | Message)[] = [];
  for (const { number, message } of after) {
    const place = places.get(number);
    const last = parts.at(-1);
    if (place === undefined) parts.push(message);
    else if (last && !("role" in last) && last[1] === place) parts[parts.length - 1] = [last[0], place + 1];
    else parts.push([place, place + 1]);
  }
  return { of: length, parts };
}
