import { setNewest } from "../../internal/deleteOldest.ts";
import { valueDigest } from "../../checkpoint/values/isSameValue.ts";
import { InvalidAgentIdError } from "../../errors/agentErrors.ts";
import { EventKeyUsedError } from "../../errors/requestErrors.ts";
import { NotSupportedError } from "../../errors/storageErrors.ts";
import { isAgentId } from "../../internal/options/assertAgentId.ts";
import { type Clock, systemClock } from "../../internal/Clock.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { LogStorage } from "../../storage/PersistenceStorageProvider.ts";
import { isOwned } from "../../storage/summaries.ts";
import type { LogWatch, RecordLog } from "../../storage/RecordLog.ts";
import { KeptLogs, dropUnread } from "../shape/KeptLogs.ts";
import { listShape, ShapeViews } from "../shape/readShape.ts";
import { logIdOf } from "../shape/ShapeDefinition.ts";
import type { ShapedLog } from "../shape/ShapedLog.ts";
import { type InboxState, type InboxRecord, inboxShape, newsStatus } from "./InboxState.ts";

export interface NewEvent {
  readonly name: string;
  readonly payload: unknown;
  readonly key?: string | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface EventRequest {
  readonly request: string;
  readonly event: string;
  /** The number of receipts in the inbox when the request was made. `undefined` if unknown. */
  readonly receipts?: number | undefined;
}

/** An event that a request of the agent has received as its answer. */
export interface ReceivedEvent {
  readonly event: number;
  readonly payload: unknown;
}

/** How often a process looks for events of other processes, in milliseconds, if the storage does not report them. */
const lookEveryMs = 2_500;
/** The delay from the release of an agent to the check for events, in milliseconds. Agents are released often. */
const tellAfterMs = 100;
/** The maximum time to wait for an inbox. Longer than the lease of a sender that was killed on another machine. */
const waitMs = 30_000;
const mostViews = 100;
const mostUnreceived = 1_000;

const inboxes = new WeakMap<RecordLog, Inbox>();

/**
 * The inboxes of the agents in a storage. Each inbox has a log, which senders and receivers own only for one append. A
 * call releases the inbox before it resolves, because the process may then be frozen.
 */
export class Inbox {
  readonly #storage: LogStorage;
  readonly #logs: KeptLogs<InboxRecord, InboxState>;
  readonly #views: ShapeViews<InboxRecord, InboxState>;
  /** The agent that each listener waits for. */
  readonly #listeners = new Map<() => void, string>();
  /** The number of receipts when a request last found no event, by agent and request. */
  readonly #unreceived = new Map<string, number>();
  #watch: Promise<LogWatch | undefined> | undefined;
  #isTelling = false;
  #arrivals = 0;

  private constructor(storage: LogStorage) {
    this.#storage = storage;
    this.#views = new ShapeViews(inboxShape, storage.log, mostViews);
    this.#logs = new KeptLogs(inboxShape, { storage, idleMs: 0, waitMs, views: this.#views });
  }

  static of(storage: LogStorage): Inbox {
    const known = inboxes.get(storage.log) ?? new Inbox(storage);
    inboxes.set(storage.log, known);
    return known;
  }

  /**
   * Stores an event durably, unless the inbox has an equal event with this key.
   *
   * @throws EventKeyUsedError, NotSerializableError, AgentBusyError
   * @throws InvalidAgentIdError if the id is too long for an inbox.
   */
  async send(agentId: string, { name, payload, key, at }: NewEvent): Promise<void> {
    assertFits(agentId);
    const sha256 = await this.#storage.sha256();
    const digest = key === undefined ? undefined : valueDigest([name, payload], sha256);
    await this.#logs.use(agentId, async (log) => {
      const isEnough = key === undefined ? log.state.isUsable : log.state.isWhole || log.state.withKey(key);
      if (!isEnough) await log.readWhole();
      const known = key === undefined ? undefined : log.state.withKey(key);
      if (known && known.digest !== digest) throw new EventKeyUsedError(agentId, key ?? "", known.name);
      const stored = known ? undefined : log.value(payload, `the payload of event "${name}"`);
      if (stored !== undefined)
        log.append([withoutUndefined({ kind: "event", name, at, payload: stored, key, digest })]);
      await log.durable();
    });
    this.#tell(agentId);
  }

  /**
   * Returns the number of receipts in an inbox, to store it in a new request. Reads only an unknown inbox.
   *
   * @throws InvalidAgentIdError if the id is too long for an inbox.
   */
  async receipts(agentId: string): Promise<number> {
    assertFits(agentId);
    return (this.#views.known(agentId) ?? (await this.#views.read(agentId)).state).receipts;
  }

  /**
   * Returns the event that the request has already received, or else the oldest unreceived event. No other request can
   * then receive it. `signal` ends the wait for another owner.
   *
   * @throws NotSupportedError without the vault of redacted values
   */
  async take(agentId: string, asked: EventRequest, signal?: AbortSignal): Promise<ReceivedEvent | undefined> {
    const { request, event: name } = asked;
    const receipts = this.#unreceived.get(JSON.stringify([agentId, request])) ?? asked.receipts;
    const knows = (state: InboxState) => state.knows(request, receipts);
    const state = await this.#look(agentId, knows);
    if (state.eventFor(request, name) === undefined) {
      this.#rememberUnreceived(agentId, request, state.receipts);
      return undefined;
    }
    const assign = async (log: ShapedLog<InboxRecord, InboxState>) => {
      if (!knows(log.state)) await log.readWhole();
      const number = log.state.eventFor(request, name) ?? -1;
      const event = log.state.event(number);
      if (!event) return undefined;
      if (event.vault) throw new NotSupportedError("The event", "the vault of its sender");
      if (!log.state.hasTaken(request)) log.append([{ kind: "take", request, event: number }]);
      const [payload] = await log.read([event.payload]);
      return { event: number, payload };
    };
    return this.#logs.use(agentId, assign, signal);
  }

  /**
   * Applies a rollback durably and only once. The events of `reverted` requests can be received again. `restored`
   * requests get their events back unless other requests have received them.
   */
  async rollBack(agentId: string, reverted: readonly string[], restored: readonly string[]): Promise<void> {
    const state = await this.#look(agentId, ({ isWhole }) => isWhole);
    const records: readonly InboxRecord[] = [
      ...reverted
        .filter((request) => state.hasTaken(request))
        .map((request) => ({ kind: "give_back", request }) as const),
      ...restored
        .filter((request) => state.hasGivenBack(request))
        .map((request) => ({ kind: "take_again", request }) as const),
    ];
    if (records.length === 0) return;
    await this.#logs.use(agentId, async (log) => {
      if (!log.state.isWhole) await log.readWhole();
      await log.store(records);
    });
  }

  /** Lists the agents that may continue because of an event. Reads little more than the data of these agents. */
  async *news(): AsyncGenerator<string> {
    for await (const { id } of listShape(inboxShape, this.#storage.log, { status: newsStatus })) yield id;
  }

  /**
   * Returns whether the inbox has an event for an open request, even if the request has already received it. If not,
   * {@link news} omits the agent until the next event.
   *
   * @param openRequests Called after the inbox is read, so that no later event is missed.
   */
  async continues(
    agentId: string,
    openRequests: () => Promise<readonly (Omit<EventRequest, "event"> & { readonly event?: string })[] | undefined>,
  ): Promise<boolean> {
    const { version } = (await this.#views.read(agentId)).state;
    const requests = await openRequests();
    if (!requests) return false;
    const asked = requests.filter((each): each is EventRequest => each.event !== undefined);
    const state = await this.#look(
      agentId,
      (part) => part.isUsable && asked.every(({ request, receipts }) => part.knows(request, receipts)),
    );
    const isDue = asked.some(({ request, event }) => state.eventFor(request, event) !== undefined);
    if (!isDue && state.hasNews) await this.#check(agentId, version);
    return isDue;
  }

  /** Deletes the inbox of an agent without decoding it, because it may be damaged. */
  async drop(agentId: string): Promise<void> {
    this.#views.forget(agentId);
    await dropUnread(this.#storage.log, logIdOf(inboxShape, agentId));
  }

  /** A number that increases when an event may have arrived. */
  get arrivals(): number {
    return this.#arrivals;
  }

  /**
   * Calls `listener` soon after an event may have arrived. Returns a function that stops the calls. `since` is the
   * value of {@link arrivals} before the caller read the inbox.
   */
  onArrival(
    agentId: string,
    { clock, since }: { readonly clock: Clock; readonly since: number },
    listener: () => void,
  ): () => void {
    this.#listeners.set(listener, agentId);
    this.#watch ??= this.#storage.log.watch?.(() => this.#tellAll()).catch(() => undefined);
    const stop = clock.after(this.#arrivals === since ? lookEveryMs : 0, listener);
    return () => {
      stop();
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#watch?.then((watch) => watch?.close()).catch(() => undefined);
      this.#watch = undefined;
    };
  }

  /** Removes an inbox from {@link news} if its version is still `version`. */
  async #check(agentId: string, version: string): Promise<void> {
    // While another process owns the inbox, its version can change.
    if (await isOwned(this.#storage.log, logIdOf(inboxShape, agentId))) return;
    await this.#logs.use(agentId, async (log) => {
      if (!log.state.isUsable) await log.readWhole();
      if (log.state.version === version) await log.store([{ kind: "seen", events: log.state.size }]);
    });
  }

  #tellAll(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    systemClock.after(tellAfterMs, () => {
      this.#isTelling = false;
      this.#tell();
    });
  }

  /** @param agentId Defaults to all agents. */
  #tell(agentId?: string): void {
    this.#arrivals++;
    for (const [listener, id] of this.#listeners) if (!agentId || id === agentId) listener();
  }

  /** Reads the newest part of an inbox, or the whole inbox if `isEnough` rejects that part. */
  async #look(agentId: string, isEnough: (part: InboxState) => boolean): Promise<InboxState> {
    const { state } = await this.#views.read(agentId);
    return isEnough(state) ? state : (await this.#views.read(agentId, true)).state;
  }

  #rememberUnreceived(agentId: string, request: string, receipts: number): void {
    const id = JSON.stringify([agentId, request]);
    setNewest(this.#unreceived, id, receipts, mostUnreceived);
  }
}

/** The id of an inbox is longer than the id of its agent. */
function assertFits(agentId: string): void {
  if (!isAgentId(logIdOf(inboxShape, agentId)))
    throw new InvalidAgentIdError(agentId, "more than 1,018 bytes for an agent with events");
}
