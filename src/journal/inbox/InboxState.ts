import type { InboxRecord, SentRecord } from "./inboxRecords.ts";

/** The events of an agent, and the requests that have received them. */
export class InboxState {
  readonly #events: SentRecord[] = [];
  readonly #byKey = new Map<string, SentRecord>();
  /** The numbers of the events that no request has received, by name, oldest first. */
  readonly #waiting = new Map<string, number[]>();
  readonly #taken = new Map<string, number>();
  /** The numbers of events that can be received again after a rollback, by the request that had received the event. */
  readonly #givenBack = new Map<string, number>();
  #seen = 0;
  #untaken = 0;

  /** The number of events, including received ones. */
  get size(): number {
    return this.#events.length;
  }

  /** True if the inbox has unreceived events, and an event has arrived since the last check of the agent's requests. */
  get hasNews(): boolean {
    return this.#untaken > 0 && this.#seen < this.#events.length;
  }

  event(number: number): SentRecord | undefined {
    return this.#events[number];
  }

  withKey(key: string): SentRecord | undefined {
    return this.#byKey.get(key);
  }

  /**
   * Returns the number of the event for a request: the event that the request has received, or else the oldest event
   * that no request has received.
   */
  eventFor(request: string, name: string): number | undefined {
    return this.#taken.get(request) ?? this.#waiting.get(name)?.[0];
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
    else this.#seen = Math.max(this.#seen, record.events);
  }

  *restate(): Iterable<InboxRecord> {
    yield* this.#events;
    for (const [request, event] of this.#givenBack) {
      yield { kind: "take", request, event };
      yield { kind: "give_back", request };
    }
    for (const [request, event] of this.#taken) yield { kind: "take", request, event };
    if (this.#seen > 0) yield { kind: "seen", events: this.#seen };
  }

  #send(record: SentRecord): void {
    this.#queue(record.name).push(this.#events.length);
    this.#untaken++;
    this.#events.push(record);
    if (record.key !== undefined) this.#byKey.set(record.key, record);
  }

  #take(request: string, number: number): void {
    const { name = "" } = this.#events[number] ?? {};
    const queue = this.#queue(name);
    const at = queue.indexOf(number);
    if (at < 0) throw new RangeError(`event ${number} is not free`);
    queue.splice(at, 1);
    this.#untaken--;
    this.#givenBack.delete(request);
    this.#taken.set(request, number);
  }

  #giveBack(request: string): void {
    const number = this.#taken.get(request);
    if (number === undefined) return;
    this.#taken.delete(request);
    this.#givenBack.set(request, number);
    const { name = "" } = this.#events[number] ?? {};
    this.#queue(name).push(number);
    this.#queue(name).sort((a, b) => a - b);
    this.#untaken++;
    this.#seen = Math.min(this.#seen, number);
  }

  #takeAgain(request: string): void {
    const number = this.#givenBack.get(request) ?? -1;
    const isFree = this.#waiting.get(this.#events[number]?.name ?? "")?.includes(number);
    if (isFree) this.#take(request, number);
  }

  #queue(name: string): number[] {
    const queue = this.#waiting.get(name) ?? [];
    this.#waiting.set(name, queue);
    return queue;
  }
}
