import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { count, optional, text, time } from "../../checkpoint/format/fieldTests.ts";
import type { ShapeDefinition } from "../shape/ShapeDefinition.ts";

/** An event that was sent to an agent. Events are numbered from 0. */
interface SentRecord {
  readonly kind: "event";
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly payload: StoredValue;
  readonly key?: string;
  /** The digest of name and payload of an event with a key. */
  readonly digest?: string;
  /** Set if the event contains redacted values. Removed if the reader has the vault. */
  readonly vault?: string;
  /** The number of an event that is repeated in a part of the inbox. Defaults to the number of earlier events. */
  readonly number?: number;
}

/** Starts a part that repeats the current state: the unreceived events, and the last receipts. */
interface PartRecord {
  readonly kind: "part";
  readonly events: number;
  /** The number of earlier receipts, which the part does not contain. */
  readonly receipts: number;
  /** The number of the first receipt in the part. */
  readonly first: number;
  readonly seen: number;
}

export type InboxRecord =
  | SentRecord
  | PartRecord
  /** A request of the agent has received an event. */
  | { readonly kind: "take"; readonly request: string; readonly event: number }
  /** A rollback has reverted a request. Its event can be received again. */
  | { readonly kind: "give_back"; readonly request: string }
  /** A redo has restored a reverted request, which gets its event back unless another request has received it. */
  | { readonly kind: "take_again"; readonly request: string }
  /** A check found that the agent waits for none of the first `events` events, and recorded all received events. */
  | { readonly kind: "seen"; readonly events: number };

/** The number of receipts in a part. An agent rarely has more open requests. */
const restatedReceipts = 32;

interface Receipt {
  readonly event: number;
  /** The number of earlier receipts. */
  readonly number: number;
}

/** The events of an agent, and the requests that received them. A partial state lacks old received events. */
export class InboxState {
  readonly #events = new Map<number, SentRecord>();
  readonly #byKey = new Map<string, SentRecord>();
  /** The numbers of the events that no request has received, by name, oldest first. */
  readonly #waiting = new Map<string, number[]>();
  readonly #taken = new Map<string, Receipt>();
  /** The events that can be received again after a rollback, by the request that had received them. */
  readonly #givenBack = new Map<string, number>();
  #size = 0;
  #receipts = 0;
  /** The number of the first receipt in this state. */
  #firstReceipt = 0;
  #seen = 0;
  #untaken = 0;
  /** True if an event was received since the last check, so that it may be missing in the log of the agent. */
  #isReplyUnknown = false;
  #isWhole = true;
  #isUsable = true;

  /** The number of events, including received ones. */
  get size(): number {
    return this.#size;
  }

  /** The number of receipts, including reverted ones. */
  get receipts(): number {
    return this.#receipts;
  }

  /** True if an event was received since the last check, or if a new event arrived and some events are unreceived. */
  get hasNews(): boolean {
    return this.#isReplyUnknown || (this.#untaken > 0 && this.#seen < this.#size);
  }

  /** Changes when an event is sent, received or given back. */
  get version(): string {
    return [this.#size, this.#receipts, this.#untaken].join();
  }

  /** False if older received events are missing. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** False if a rollback reverted a receipt that is not in this state. The whole log must then be read. */
  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** Returns whether the state shows if a request got an event. @param receipts The receipts before the request. */
  knows(request: string, receipts: number | undefined): boolean {
    if (this.#isWhole) return true;
    return this.#isUsable && (this.#taken.has(request) || (receipts ?? -1) >= this.#firstReceipt);
  }

  event(number: number): SentRecord | undefined {
    return this.#events.get(number);
  }

  withKey(key: string): SentRecord | undefined {
    return this.#byKey.get(key);
  }

  /** Returns the number of the event that the request received, or else of the oldest unreceived event. */
  eventFor(request: string, name: string): number | undefined {
    return this.#taken.get(request)?.event ?? this.#waiting.get(name)?.[0];
  }

  hasGivenBack(request: string): boolean {
    return this.#givenBack.has(request);
  }

  hasTaken(request: string): boolean {
    return this.#taken.has(request);
  }

  /** @throws RangeError if the record does not match the earlier records. */
  add(record: InboxRecord): void {
    if (record.kind === "event") this.#send(record);
    else if (record.kind === "take") this.#take(record.request, record.event);
    else if (record.kind === "give_back") this.#giveBack(record.request);
    else if (record.kind === "take_again") this.#takeAgain(record.request);
    else if (record.kind === "part") this.#begin(record);
    else this.#check(record.events);
  }

  *restate(): Iterable<InboxRecord> {
    for (const event of this.#events.values()) yield event;
    for (const [request, event] of this.#givenBack) {
      yield { kind: "take", request, event };
      yield { kind: "give_back", request };
    }
    const seen = { kind: "seen", events: this.#seen } as const;
    if (this.#isReplyUnknown) yield seen;
    for (const [request, { event }] of this.#taken) yield { kind: "take", request, event };
    if (!this.#isReplyUnknown) yield seen;
  }

  /** Returns the records of a part: the unreceived events and the last receipts. Empty if this state is unusable. */
  part(): readonly InboxRecord[] {
    if (!this.#isUsable) return [];
    const first = Math.max(this.#firstReceipt, this.#receipts - restatedReceipts);
    const receipts = [...this.#taken].filter(([, { number }]) => number >= first);
    const needed = new Set([...[...this.#waiting.values()].flat(), ...receipts.map(([, { event }]) => event)]);
    const events = [...needed].sort((a, b) => a - b).flatMap((number) => this.#numbered(number));
    return [
      { kind: "part", events: this.#size, receipts: this.#receipts - receipts.length, first, seen: this.#seen },
      ...events,
      ...receipts.map(([request, { event }]) => ({ kind: "take", request, event }) as const),
      ...(this.#isReplyUnknown ? [] : [{ kind: "seen", events: this.#seen } as const]),
    ];
  }

  #numbered(number: number): readonly SentRecord[] {
    const event = this.#events.get(number);
    return event ? [{ ...event, number }] : [];
  }

  #begin({ events, receipts, first, seen }: PartRecord): void {
    [this.#size, this.#receipts, this.#firstReceipt, this.#seen] = [events, receipts, first, seen];
    this.#isWhole = false;
  }

  #check(events: number): void {
    this.#seen = Math.max(this.#seen, events);
    this.#isReplyUnknown = false;
  }

  #send({ number = this.#size, ...record }: SentRecord): void {
    this.#queue(record.name).push(number);
    this.#untaken++;
    this.#events.set(number, record);
    this.#size = Math.max(this.#size, number + 1);
    if (record.key !== undefined) this.#byKey.set(record.key, record);
  }

  #take(request: string, number: number): void {
    const { name = "" } = this.#events.get(number) ?? {};
    const queue = this.#queue(name);
    const at = queue.indexOf(number);
    if (at < 0) {
      if (!this.#isUsable) return;
      throw new RangeError(`event ${number} is not free`);
    }
    queue.splice(at, 1);
    this.#untaken--;
    this.#isReplyUnknown = true;
    this.#givenBack.delete(request);
    this.#taken.set(request, { event: number, number: this.#receipts++ });
  }

  #giveBack(request: string): void {
    const number = this.#taken.get(request)?.event;
    if (number === undefined) {
      this.#isUsable &&= this.#isWhole;
      return;
    }
    this.#taken.delete(request);
    this.#givenBack.set(request, number);
    const { name = "" } = this.#events.get(number) ?? {};
    this.#queue(name).push(number);
    this.#queue(name).sort((a, b) => a - b);
    this.#untaken++;
    this.#seen = Math.min(this.#seen, number);
  }

  #takeAgain(request: string): void {
    const number = this.#givenBack.get(request);
    if (number === undefined) {
      this.#isUsable &&= this.#isWhole;
      return;
    }
    const isFree = this.#waiting.get(this.#events.get(number)?.name ?? "")?.includes(number);
    if (isFree) this.#take(request, number);
  }

  #queue(name: string): number[] {
    const queue = this.#waiting.get(name) ?? [];
    this.#waiting.set(name, queue);
    return queue;
  }
}

/** The status of an inbox with an event for which an agent may wait. Workers list these inboxes. */
export const newsStatus = "inbox_news";

export const inboxShape: ShapeDefinition<InboxRecord, InboxState> = {
  name: "inbox",
  version: 2,
  records: {
    event: { name: text, at: time, key: optional(text), digest: optional(text), number: optional(count) },
    take: { request: text, event: count },
    give_back: { request: text },
    take_again: { request: text },
    seen: { events: count },
    part: { events: count, receipts: count, first: count, seen: count },
  },
  values: (record) => (record.kind === "event" ? [record.payload] : []),
  begin: () => new InboxState(),
  part: (state) => state.part(),
  status: ({ hasNews }) => (hasNews ? newsStatus : "inbox"),
};
