import { addToGroup } from "../../internal/addToGroup.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { encodeValue } from "../values/valueCodec.ts";
import type { Message } from "./Message.ts";
import { type HistoryEdit, numberRanges } from "./LinkedHistory.ts";

/** A message with a permanent number that is unique in the log of its agent. */
export interface NumberedMessage {
  readonly number: number;
  readonly message: Message;
}

export interface MessageNumbers {
  next: number;
}

export type HistoryChange =
  | { readonly kind: "append"; readonly messages: readonly NumberedMessage[] }
  | ({ readonly kind: "edit"; readonly trim?: true } & HistoryEdit<NumberedMessage>);

interface LeftMessage {
  readonly number: number;
  readonly place: number;
}

type HistoryEditChange = Extract<HistoryChange, { kind: "edit" }>;

/** The message history of a run, branch or sub-agent. The cost of a save does not depend on the length of the run. */
export class MessageHistory {
  #entries: NumberedMessage[];
  #numbers: Map<unknown, number>;
  readonly #free: MessageNumbers;
  #changes: HistoryChange[] = [];
  #saved: number;
  #view: readonly Message[] | undefined;
  readonly #reissued = new Map<number, number>();
  #mark: { readonly length: number; readonly next: number; entries?: readonly NumberedMessage[] } = {
    length: 0,
    next: 1,
  };

  constructor(entries: readonly NumberedMessage[] = [], numbers: MessageNumbers = { next: 1 }) {
    this.#entries = [...entries];
    this.#numbers = numbersOf(this.#entries);
    this.#free = numbers;
    this.#saved = this.#entries.length;
  }

  /** The messages as a frozen array, which is the same object until the history changes. */
  get messages(): readonly Message[] {
    this.#view ??= Object.freeze(this.#entries.map((entry) => entry.message));
    return this.#view;
  }

  get length(): number {
    return this.#entries.length;
  }

  get entries(): readonly NumberedMessage[] {
    return this.#entries;
  }

  get numbers(): MessageNumbers {
    return this.#free;
  }

  numberOf(message: unknown): number | undefined {
    return this.#numbers.get(message);
  }

  append(...messages: readonly Message[]): void {
    for (const message of messages) {
      const entry = this.#number(message);
      this.#entries.push(entry);
      this.#numbers.set(entry.message, entry.number);
    }
    this.#view = undefined;
  }

  /** Replaces the history. Messages that are the same objects, or have an equal stored form, keep their numbers. */
  rewrite(change: (messages: readonly Message[]) => readonly Message[]): void {
    const wanted = change(this.messages);
    this.#noteAppended();
    this.#changes.push(...this.#replace(wanted, matchKept(this.#entries, wanted)));
  }

  reissue(at: number, message: Message): void {
    const before = this.#entries[at]?.number;
    this.rewrite((messages) => messages.with(at, message));
    const after = this.#entries[at]?.number;
    if (before !== undefined && after !== undefined) this.#reissued.set(after, this.#reissued.get(before) ?? before);
  }

  /** Replaces messages by shorter messages. Readers of the original history ignore this change. */
  trim(wanted: readonly Message[]): void {
    this.#noteAppended();
    const edits = this.#replace(wanted, matchLast(this.#entries, wanted));
    this.#changes.push(...edits.map((edit) => ({ ...edit, trim: true }) as const));
  }

  #replace(wanted: readonly Message[], kept: readonly (NumberedMessage | undefined)[]): HistoryEditChange[] {
    const before = this.#entries;
    this.#mark.entries ??= before.slice(0, this.#mark.length);
    this.#entries = wanted.map((message, at) => kept[at] ?? this.#number(message));
    this.#numbers = numbersOf(this.#entries);
    this.#saved = this.#entries.length;
    this.#view = undefined;
    return editsBetween(before, this.#entries);
  }

  /** Remembers the current messages for {@link messagesAtMark}. Copies messages only if the history is rewritten. */
  mark(): void {
    this.#mark = { length: this.#entries.length, next: this.#free.next };
    this.#reissued.clear();
  }

  get messagesAtMark(): readonly Message[] {
    const { entries, length } = this.#mark;
    return Object.freeze((entries ?? this.#entries.slice(0, length)).map(({ message }) => message));
  }

  numberAtMark(message: unknown): number | undefined {
    const number = this.#numbers.get(message);
    return number !== undefined && number < this.#mark.next ? number : undefined;
  }

  /** The changes since the last mark: new messages, messages that a rewrite kept, and the message count at the mark. */
  get changedSinceMark(): {
    readonly fresh: readonly Message[];
    readonly left?: readonly LeftMessage[];
    readonly marked: number;
  } {
    const { entries, length: marked } = this.#mark;
    if (!entries) return { fresh: this.#entries.slice(marked).map(({ message }) => message), marked };
    const places = new Map(entries.map(({ number }, place) => [number, place]));
    const left: LeftMessage[] = [];
    const fresh: Message[] = [];
    for (const { number: own, message } of this.#entries) {
      const number = this.#reissued.get(own) ?? own;
      const place = places.get(number);
      if (place === undefined) fresh.push(message);
      else left.push({ number, place });
    }
    return { fresh, left, marked };
  }

  takeChanges(): readonly HistoryChange[] {
    this.#noteAppended();
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }

  #number(message: Message): NumberedMessage {
    return { number: this.#free.next++, message: frozenCopy(message) };
  }

  #noteAppended(): void {
    if (this.#saved === this.#entries.length) return;
    this.#changes.push({ kind: "append", messages: this.#entries.slice(this.#saved) });
    this.#saved = this.#entries.length;
  }
}

function numbersOf(entries: readonly NumberedMessage[]): Map<unknown, number> {
  return new Map(entries.map(({ number, message }) => [message, number]));
}

/** Matches messages by identity, from last to first, because trimming removes messages at the start. */
function matchLast(before: readonly NumberedMessage[], wanted: readonly Message[]): (NumberedMessage | undefined)[] {
  const positions = positionsBy(before, (message) => message);
  return wanted
    .toReversed()
    .map((message) => before[positions.get(message)?.pop() ?? -1])
    .toReversed();
}

/** Matches messages in their order, by identity. Compares stored forms only if a message has no identical one. */
function matchKept(before: readonly NumberedMessage[], wanted: readonly Message[]): (NumberedMessage | undefined)[] {
  const same = new Set(wanted);
  const identical = positionsBy(before, (message) => message);
  let equal: typeof identical | undefined;
  let from = 0;
  const next = (positions: number[] = []) => {
    while ((positions[0] ?? from) < from) positions.shift();
    return positions[0];
  };
  return wanted.map((message) => {
    let at = next(identical.get(message));
    if (at === undefined) {
      equal ??= positionsBy(before, (known) => (same.has(known) ? undefined : contentKey(known)));
      at = next(equal.get(contentKey(message)));
    }
    if (at === undefined) return undefined;
    from = at + 1;
    return before[at];
  });
}

function positionsBy(
  entries: readonly NumberedMessage[],
  keyOf: (message: Message) => unknown,
): Map<unknown, number[]> {
  const positions = new Map<unknown, number[]>();
  entries.forEach(({ message }, at) => addToGroup(positions, keyOf(message), at));
  positions.delete(undefined);
  return positions;
}

/** Returns a text that is equal for values with equal stored forms. `undefined` if the value cannot be stored. */
export function contentKey(value: unknown): string | undefined {
  try {
    return JSON.stringify(encodeValue(value, ""));
  } catch {
    return undefined;
  }
}

/** Returns the changes that turn one history into another. Messages in both have the same order. */
export function editsBetween(
  before: readonly NumberedMessage[],
  after: readonly NumberedMessage[],
): HistoryEditChange[] {
  const kept = new Set(after.map(({ number }) => number));
  const existed = new Set(before.map(({ number }) => number));
  const changes: HistoryEditChange[] = [];
  let remove: HistoryEditChange["remove"] = numberRanges([...existed].filter((number) => !kept.has(number)));
  for (let at = 0; at < after.length; at++) {
    const from = at;
    while (at < after.length && !existed.has(after[at]?.number ?? 0)) at++;
    if (at === from) continue;
    const next = after[at];
    changes.push({ kind: "edit", remove, insert: after.slice(from, at), ...(next && { before: next.number }) });
    remove = [];
  }
  if (remove.length > 0) changes.push({ kind: "edit", remove, insert: [] });
  return changes;
}
