import { valueDigest } from "../../checkpoint/values/isSameValue.ts";
import { EventKeyUsedError } from "../../errors/requestErrors.ts";
import type { Clock } from "../../internal/Clock.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { LogStorage } from "../../storage/LogStorage.ts";
import type { LogWatch, RecordLog } from "../../storage/RecordLog.ts";
import { KeptLogs } from "../shape/KeptLogs.ts";
import { listShape, readShape, type ShapeView } from "../shape/readShape.ts";
import { logIdOf } from "../shape/ShapeDefinition.ts";
import type { InboxRecord } from "./inboxRecords.ts";
import { inboxShape, newsStatus } from "./inboxShape.ts";
import type { InboxState } from "./InboxState.ts";

/** An event to send. */
export interface NewEvent {
  readonly name: string;
  readonly payload: unknown;
  readonly key?: string | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A received event. It is the answer to the request that receives it. */
export interface ReceivedEvent {
  /** Its number in the inbox. */
  readonly event: number;
  readonly payload: unknown;
}

type View = ShapeView<InboxRecord, InboxState>;

/** How often a process looks for events of other processes, if the storage does not report them. In milliseconds. */
const lookEveryMs = 2_500;
/** Other processes wait for an inbox at most this long after its last use, in milliseconds. */
const idleMs = 50;
/** Longer than the lease of a sender that was killed on another machine. */
const waitMs = 30_000;
const mostViews = 100;

const inboxes = new WeakMap<RecordLog, Inbox>();

/**
 * The inboxes of the agents of a storage. An inbox is a log of its own. Senders and receivers own it for one append, and
 * never own the agent.
 */
export class Inbox {
  readonly #storage: LogStorage;
  readonly #logs: KeptLogs<InboxRecord, InboxState>;
  readonly #views = new Map<string, View>();
  readonly #listeners = new Map<string, Set<() => void>>();
  #watch: Promise<LogWatch | undefined> | undefined;
  #arrivals = 0;

  private constructor(storage: LogStorage) {
    this.#storage = storage;
    this.#logs = new KeptLogs(inboxShape, { storage, idleMs, waitMs });
  }

  static of(storage: LogStorage): Inbox {
    const known = inboxes.get(storage.log) ?? new Inbox(storage);
    inboxes.set(storage.log, known);
    return known;
  }

  /**
   * Stores an event. Durable when it resolves. Does nothing if the inbox has the same event under the key.
   *
   * @throws EventKeyUsedError if the key belongs to another event. NotSerializableError, AgentBusyError.
   */
  async send(agentId: string, { name, payload, key, at }: NewEvent): Promise<void> {
    const sha256 = await this.#storage.sha256();
    const digest = key === undefined ? undefined : valueDigest([name, payload], sha256);
    await this.#logs.use(agentId, async (log) => {
      const known = key === undefined ? undefined : log.state.withKey(key);
      if (known && known.digest !== digest) throw new EventKeyUsedError(agentId, key ?? "", known.name);
      const stored = known ? undefined : log.value(payload, `the payload of event "${name}"`);
      if (stored !== undefined)
        log.append([withoutUndefined({ kind: "event", name, at, payload: stored, key, digest })]);
      await log.durable();
    });
    this.#tell(this.#listeners.get(agentId));
  }

  /**
   * Returns the event of a request: the one that it has received before, or the oldest one that no request has received.
   * `undefined` if there is none. Other requests cannot receive it when it resolves.
   */
  async take(agentId: string, request: string, name: string): Promise<ReceivedEvent | undefined> {
    if ((await this.#look(agentId)).eventFor(request, name) === undefined) return undefined;
    return this.#logs.use(agentId, async (log) => {
      const number = log.state.eventFor(request, name) ?? -1;
      const event = log.state.event(number);
      if (!event) return undefined;
      if (!log.state.hasTaken(request)) log.append([{ kind: "take", request, event: number }]);
      const [payload] = await log.read([event.payload]);
      return { event: number, payload };
    });
  }

  /**
   * Follows a rollback. Durable when it resolves. Repeating it changes nothing.
   *
   * @param reverted the requests whose events can be received again.
   * @param restored the requests of a redo, which have their events again unless others have received them.
   */
  async rollBack(agentId: string, reverted: readonly string[], restored: readonly string[]): Promise<void> {
    const state = await this.#look(agentId);
    const records: readonly InboxRecord[] = [
      ...reverted
        .filter((request) => state.hasTaken(request))
        .map((request) => ({ kind: "give_back", request }) as const),
      ...restored
        .filter((request) => state.hasGivenBack(request))
        .map((request) => ({ kind: "take_again", request }) as const),
    ];
    if (records.length > 0) await this.#logs.use(agentId, (log) => log.store(records));
  }

  /** Lists the agents with an event that may continue them. Reads little more than the result. */
  async *news(): AsyncGenerator<string> {
    for await (const { id } of listShape(inboxShape, this.#storage.log, { status: newsStatus })) yield id;
  }

  /**
   * Returns whether the inbox has an event for one of the requests of an agent that nobody runs. If not, {@link news}
   * omits the agent until the next event.
   */
  async continues(
    agentId: string,
    requests: readonly { readonly request: string; readonly event?: string }[],
  ): Promise<boolean> {
    const state = await this.#look(agentId);
    const { size, hasNews } = state;
    const isDue = requests.some(
      ({ request, event }) => event !== undefined && state.eventFor(request, event) !== undefined,
    );
    if (!isDue && hasNews) await this.#logs.use(agentId, (log) => log.store([{ kind: "seen", events: size }]));
    return isDue;
  }

  /** Deletes the inbox of an agent, if there is one. */
  async drop(agentId: string): Promise<void> {
    this.#views.delete(agentId);
    for await (const _ of this.#storage.log.read(logIdOf(inboxShape, agentId)))
      return this.#logs.use(agentId, (log) => log.drop());
  }

  /** Grows when an event may have arrived. */
  get arrivals(): number {
    return this.#arrivals;
  }

  /**
   * Calls a function soon after an event may have arrived. Calls may be unnecessary. Returns how to end this.
   *
   * @param options.since {@link arrivals} before the inbox was found without the event.
   */
  onArrival(
    agentId: string,
    { clock, since }: { readonly clock: Clock; readonly since: number },
    listener: () => void,
  ): () => void {
    const listeners = this.#listeners.get(agentId) ?? new Set();
    this.#listeners.set(agentId, listeners.add(listener));
    this.#watch ??= this.#storage.log.watch?.(() => this.#tellAll()).catch(() => undefined);
    const stop = clock.after(this.#arrivals === since ? lookEveryMs : 0, listener);
    return () => {
      stop();
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(agentId);
      if (this.#listeners.size === 0) this.#unwatch();
    };
  }

  #tellAll(): void {
    for (const listeners of this.#listeners.values()) this.#tell(listeners);
  }

  #tell(listeners: Iterable<() => void> = []): void {
    this.#arrivals++;
    for (const listener of listeners) listener();
  }

  #unwatch(): void {
    this.#watch?.then((watch) => watch?.close()).catch(() => undefined);
    this.#watch = undefined;
  }

  /** Reads what was added since the last look. */
  async #look(agentId: string): Promise<InboxState> {
    const known = this.#views.get(agentId);
    // Only one reader may grow a view.
    this.#views.delete(agentId);
    const view = await readShape(inboxShape, { log: this.#storage.log, id: agentId }, known);
    if (view.exists) this.#views.set(agentId, view);
    for (const oldest of this.#views.keys()) {
      if (this.#views.size <= mostViews) break;
      this.#views.delete(oldest);
    }
    return view.state;
  }
}
