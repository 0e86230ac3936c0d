import { frozenCopy } from "../../internal/copy/frozenCopy.ts";
import type { Message } from "./Message.ts";
import type { HistoryEdit } from "./storedHistory.ts";

/** A message with its number: explicit, permanent, unique in its agent's log. */
export interface NumberedMessage {
  readonly number: number;
  readonly message: Message;
}

/** Counts the messages of a log: the histories of its lines take their numbers from one counter. */
export interface MessageNumbers {
  /** The first number that is free. */
  next: number;
}

/** What happened to a history since it was last saved. */
export type HistoryChange =
  | { readonly kind: "append"; readonly messages: readonly NumberedMessage[] }
  | ({ readonly kind: "edit"; readonly trim?: true } & HistoryEdit<NumberedMessage>);

/** A message that was there at the last mark. */
interface LeftMessage {
  readonly number: number;
  /** Where it was among all of the mark, from 0. */
  readonly place: number;
}

type HistoryEditChange = Extract<HistoryChange, { kind: "edit" }>;

/**
 * The message history of one line of an agent. It remembers what is new since the last save, so that saving costs what
 * is new and never the length of the run.
 */
export class MessageHistory {
  #entries: NumberedMessage[];
  #numbers: Map<unknown, number>;
  readonly #free: MessageNumbers;
  #changes: HistoryChange[] = [];
  #saved: number;
  #view: readonly Message[] | undefined;
  /** The numbers that messages had before they got other ids. */
  readonly #reissued = new Map<number, number>();
  #mark: { readonly length: number; readonly next: number; entries?: readonly NumberedMessage[] } = {
    length: 0,
    next: 1,
  };

  /** @param entries what is already in the log. @param numbers of the agent's log. Default: its own. */
  constructor(entries: readonly NumberedMessage[] = [], numbers: MessageNumbers = { next: 1 }) {
    this.#entries = [...entries];
    this.#numbers = numbersOf(this.#entries);
    this.#free = numbers;
    this.#saved = this.#entries.length;
  }

  /** A frozen picture; the same array until the history changes. */
  get messages(): readonly Message[] {
    this.#view ??= Object.freeze(this.#entries.map((entry) => entry.message));
    return this.#view;
  }

  get length(): number {
    return this.#entries.length;
  }

  /** The messages with their numbers. */
  get entries(): readonly NumberedMessage[] {
    return this.#entries;
  }

  /** What numbers its messages. */
  get numbers(): MessageNumbers {
    return this.#free;
  }

  /** The number of a message of this history, by identity; `undefined` when it is not in it. */
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

  /** Replaces the history. What stays is matched by identity, then by content, and keeps its number. */
  rewrite(change: (messages: readonly Message[]) => readonly Message[]): void {
    const wanted = change(this.messages);
    this.#noteAppended();
    this.#changes.push(...this.#replace(wanted, matchKept(this.#entries, wanted)));
  }

  /** Replaces a message by the same one with other ids of calls: it counts as left. */
  reissue(at: number, message: Message): void {
    const before = this.#entries[at]?.number;
    this.rewrite((messages) => messages.with(at, message));
    const after = this.#entries[at]?.number;
    if (before !== undefined && after !== undefined) this.#reissued.set(after, this.#reissued.get(before) ?? before);
  }

  /** Replaces some messages by shorter ones: readers who want the originals pass over this change. */
  trim(wanted: readonly Message[]): void {
    this.#noteAppended();
    const entries = new Map(this.#entries.map((entry) => [entry.message, entry]));
    const edits = this.#replace(
      wanted,
      wanted.map((message) => entries.get(message)),
    );
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

  /** Remembers this moment for {@link messagesAtMark}, at no cost until the history is rewritten. */
  mark(): void {
    this.#mark = { length: this.#entries.length, next: this.#free.next };
    this.#reissued.clear();
  }

  /** The messages at the last mark. */
  get messagesAtMark(): readonly Message[] {
    const { entries, length } = this.#mark;
    return Object.freeze((entries ?? this.#entries.slice(0, length)).map(({ message }) => message));
  }

  /** The number of a message that was there at the last mark; `undefined` for any other. */
  numberAtMark(message: unknown): number | undefined {
    const number = this.#numbers.get(message);
    return number !== undefined && number < this.#mark.next ? number : undefined;
  }

  /** How the history has changed since the last mark, at which it had `marked` messages: what is new and, once it was rewritten, what is left. */
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

  /** What is new since the last call, in order; the next call starts from here. */
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

/** For each wanted message the entry it continues, in order: a moved message counts as removed and inserted. */
function matchKept(before: readonly NumberedMessage[], wanted: readonly Message[]): (NumberedMessage | undefined)[] {
  const positions = new Map<unknown, number[]>();
  const remember = (key: unknown, at: number) => {
    const list = positions.get(key);
    if (list) list.push(at);
    else positions.set(key, [at]);
  };
  before.forEach(({ message }, at) => {
    remember(message, at);
    remember(contentKey(message), at);
  });
  let from = 0;
  const firstOf = (key: unknown) => positions.get(key)?.find((at) => at >= from);
  return wanted.map((message) => {
    const found = firstOf(message) ?? firstOf(contentKey(message));
    if (found === undefined) return undefined;
    from = found + 1;
    return before[found];
  });
}

/** Equal for equal plain content. Rich values that JSON cannot tell apart are matched by identity alone. */
function contentKey(message: Message): string {
  return JSON.stringify(message, (_key, value: unknown) => (typeof value === "bigint" ? `${value}n` : value));
}

function editsBetween(before: readonly NumberedMessage[], after: readonly NumberedMessage[]): HistoryEditChange[] {
  const kept = new Set(after.map(({ number }) => number));
  const existed = new Set(before.map(({ number }) => number));
  const changes: HistoryEditChange[] = [];
  let remove = removedRanges(before, kept);
  for (let at = 0; at < after.length;) {
    const entry = after[at];
    if (!entry || existed.has(entry.number)) {
      at++;
      continue;
    }
    let end = at;
    while (end < after.length && !existed.has(after[end]?.number ?? 0)) end++;
    const next = after[end];
    changes.push({ kind: "edit", remove, insert: after.slice(at, end), ...(next && { before: next.number }) });
    remove = [];
    at = end;
  }
  if (remove.length > 0) changes.push({ kind: "edit", remove, insert: [] });
  return changes;
}

/** Neighboring removals become one range: a range may span numbers that are absent, never numbers that are kept. */
function removedRanges(before: readonly NumberedMessage[], kept: ReadonlySet<number>): [number, number][] {
  const ranges: [number, number][] = [];
  let open: [number, number] | undefined;
  for (const number of before.map((entry) => entry.number).sort((a, b) => a - b)) {
    if (kept.has(number)) open = undefined;
    else if (open) open[1] = number;
    else ranges.push((open = [number, number]));
  }
  return ranges;
}
