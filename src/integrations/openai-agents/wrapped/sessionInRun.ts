import {
  type AgentInputItem,
  type SessionHistoryRewriteArgs,
  type SessionHistoryTransaction,
  type SessionHistoryTransactionArgs,
  type Session,
  isSessionHistoryTransactionAwareSession,
  type OpenAIResponsesCompactionOwnershipAwareSession,
  type OpenAIResponsesCompactionResult,
  RequestUsage,
} from "@openai/agents-core";
import { hostedTool } from "../../hosted/HostedTool.ts";
import type { SessionChange, CallId } from "../session/SessionState.ts";
import { lastItems, type ReadItems, type SessionStore, storeOf } from "../session/SessionStore.ts";
import { type DurableRun, currentCall } from "./DurableRun.ts";
import { isSameValue } from "../../../checkpoint/values/isSameValue.ts";
import type { AnyContext } from "./AnyAgent.ts";

const readingSession = hostedTool("read_session", { effect: "none" });
/**
 * Removing items is recorded as a call with an effect. So the start of the call is durable before items are removed,
 * and only the owner of the run removes them. After a rollback, the run removes the items again.
 */
export const takingBack = hostedTool("take_back_session_items", { effect: "idempotent", rollback: () => undefined });

/** A PersistenceSession in a durable run. The session stores how many of its changes the run has made. */
class StoredRunSession {
  readonly #store: SessionStore;
  readonly #run: DurableRun;
  readonly #name: string;
  /** The number of changes that the run has made or repeated in this process. */
  #done = 0;

  constructor(store: SessionStore, run: DurableRun, name: string) {
    this.#store = store;
    this.#run = run;
    this.#name = name;
  }

  /** Records only the numbers of the items, because the session stores the items. */
  async getItems(limit = Number.POSITIVE_INFINITY): Promise<AgentInputItem[]> {
    const { loop } = this.#run;
    let read: ReadItems | undefined;
    const look = async () => {
      read = await this.#store.numberedItems(this.#name);
      // The session has changes under the id of this run, but this run has not changed the session yet. Either a
      // rollback has reset the run, or the changes belong to a deleted run with the same id.
      return this.#done === 0 && read.done > 0 ? null : read.numbers;
    };
    const takeBack = async () => {
      if (await this.#run.isReopened()) await this.#store.takeBack(this.#name);
      else await this.#store.forgetRun(this.#name);
      read = await this.#store.numberedItems(this.#name);
      return read.numbers;
    };
    const found = await loop.step({ tool: readingSession, input: null, perform: look });
    const numbers = found ?? (await loop.step({ tool: takingBack, input: null, perform: takeBack }));
    const items = read?.items ?? (await this.#store.itemsOf(numbers as ReadItems["numbers"]));
    this.#run.ids.learn(await this.#store.callIds());
    return lastItems(items, limit);
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    await this.#change({ type: "add", items: structuredClone(items) });
  }

  async clearSession(): Promise<void> {
    await this.#change({ type: "clear" });
  }

  async replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void> {
    await this.#change({ type: "replace", items: structuredClone(items) });
  }

  async applyHistoryMutations({ mutations }: SessionHistoryRewriteArgs): Promise<void> {
    // In a replay, the calls are already replaced, so this changes nothing.
    if (await this.#run.mayChange()) await this.#store.mutate(structuredClone(mutations));
  }

  /** Does not use the operation id, because the SDK generates a random one, which differs in a replay. */
  async applyHistoryTransaction({ transaction }: SessionHistoryTransactionArgs): Promise<void> {
    const given: SessionHistoryTransaction = structuredClone(transaction);
    if (given.type === "append_items") return this.#change({ type: "add", items: given.items });
    const operation = `${this.#name}#${this.#done++}`;
    if (await this.#run.mayChange()) await this.#store.transact(operation, given);
  }

  async #change(change: SessionChange): Promise<void> {
    const part = { run: this.#name, before: this.#done, callIds: this.#callIdsIn(change) };
    this.#done += change.type === "add" ? change.items.length : 1;
    if (await this.#run.mayChange()) await this.#store.changeOnce(change, part);
  }

  #callIdsIn(change: SessionChange): CallId[] {
    const items = "items" in change ? change.items : [];
    return items.flatMap((item) => {
      const provided = item.type === "function_call" ? this.#run.ids.providedOf(item.callId) : undefined;
      return item.type === "function_call" && provided !== undefined ? [[item.callId, provided] as const] : [];
    });
  }
}

/** Wraps a session for a durable run. A replay reads the same items as before, and adds no item again. */
export function sessionInRun(session: Session, run: DurableRun): Session {
  const call = currentCall();
  const views = run.sessions.get(session) ?? new Map<string | undefined, Session>();
  run.sessions.set(session, views);
  const known = views.get(call);
  if (known) return known;
  const store = storeOf(session);
  const name = JSON.stringify([run.loop.agentId, run.loop.runId, call ?? null]);
  const own: object = store ? new StoredRunSession(store, run, name) : new ForeignRunSession(session, run, name);
  const view = new Proxy(session, {
    get: (target, key) => {
      // The SDK detects features of a session by its methods, so the wrapper adds none.
      const source = key in target && key in own ? own : target;
      const value: unknown = Reflect.get(source, key);
      return typeof value === "function" ? value.bind(source) : value;
    },
  });
  views.set(call, view);
  return view;
}

/** A session with all methods that the SDK may call. The wrapper has only the methods of the original. */
type AnySession = Session & OpenAIResponsesCompactionOwnershipAwareSession;
type CompactionArgs = Parameters<AnySession["runCompaction"]>;

interface Compacted {
  /** The usage, as fields of a `RequestUsage`. `null` if the session was not compacted. */
  readonly usage: ConstructorParameters<typeof RequestUsage>[0] | null;
  readonly length: number;
}

const readingItems = hostedTool("read_session_items", { effect: "none" });
const compacting = hostedTool("compact_session", { effect: "none" });

/**
 * A session of another library in a durable run. The session cannot tell which items the run added, so items are
 * recorded when they are read, and compared in a replay. The session stores the provider's ids of calls.
 */
class ForeignRunSession {
  readonly #session: AnySession;
  readonly #run: DurableRun;
  readonly #name: string;
  /** The number of items in the session, as far as the run knows. `undefined` before the first read. */
  #length: number | undefined;
  #isRepeated = false;
  #transactions = 0;

  constructor(session: Session, run: DurableRun, name: string) {
    this.#session = session as AnySession;
    this.#run = run;
    this.#name = name;
  }

  async getItems(limit = Number.POSITIVE_INFINITY, ...context: [AnyContext?]): Promise<AgentInputItem[]> {
    const items = await this.#read(() => this.#session.getItems(undefined, ...(context as [])));
    return lastItems(items, limit);
  }

  async getItemsWithCompactionOwnership(
    ...context: [AnyContext?]
  ): Promise<{ items: AgentInputItem[]; ownership: object }> {
    // In a replay, the session does not know this new object, and therefore replaces no items.
    let ownership = {};
    const items = await this.#read(async () => {
      const read = await this.#session.getItemsWithCompactionOwnership(...context);
      ({ ownership } = read);
      return read.items;
    });
    return { items, ownership };
  }

  async addItems(items: AgentInputItem[], ...context: [AnyContext?]): Promise<void> {
    await this.#add(items, (rest) => this.#session.addItems(rest, ...(context as [])));
  }

  async addItemsWithCompactionOwnership(
    items: AgentInputItem[],
    ...more: [ownership: object | null, context?: AnyContext]
  ): Promise<void> {
    await this.#add(items, (rest) => this.#session.addItemsWithCompactionOwnership(rest, ...more));
  }

  async clearSession(...context: [AnyContext?]): Promise<void> {
    if (await this.#run.mayChange()) await this.#session.clearSession(...(context as []));
    this.#length &&= 0;
  }

  async applyHistoryTransaction(
    { transaction }: SessionHistoryTransactionArgs,
    ...context: [AnyContext?]
  ): Promise<void> {
    const given = this.#withProvidedIds(transaction);
    // The operation id of the SDK is random and would differ in a replay.
    const operationId = `${this.#name}#${this.#transactions++}`;
    if ((await this.#run.mayChange()) && isSessionHistoryTransactionAwareSession(this.#session))
      await this.#session.applyHistoryTransaction({ operationId, transaction: given }, ...context);
    if (given.type === "append_items") this.#grow(given.items.length);
    else this.#grow(given.replacement.length - given.expectedSuffix.length);
  }

  /** Records the result, because a replay finds the session already compacted. */
  async runCompaction(...args: CompactionArgs): Promise<OpenAIResponsesCompactionResult | null> {
    const perform = async (): Promise<Compacted> => {
      const result = await this.#session.runCompaction(...args);
      const { length } = await this.#session.getItems();
      return { usage: result && Object.fromEntries(Object.entries(result.usage)), length };
    };
    const { usage, length } = (await this.#run.loop.step({ tool: compacting, input: null, perform })) as Compacted;
    this.#length = length;
    return usage ? { usage: new RequestUsage(usage) } : null;
  }

  async #read(read: () => Promise<AgentInputItem[]>): Promise<AgentInputItem[]> {
    let isRead = false;
    const perform = async () => {
      isRead = true;
      return read();
    };
    const items = (await this.#run.loop.step({ tool: readingItems, input: null, perform })) as AgentInputItem[];
    this.#isRepeated ||= !isRead;
    this.#length = items.length;
    return structuredClone(items);
  }

  async #add(items: readonly AgentInputItem[], add: (rest: AgentInputItem[]) => Promise<void>): Promise<void> {
    const given = structuredClone(this.#run.ids.providedItems(items));
    if (await this.#run.mayChange()) {
      const rest = given.slice(await this.#alreadyAdded(given));
      if (rest.length > 0) await add(rest);
    }
    this.#grow(given.length);
  }

  #withProvidedIds(transaction: SessionHistoryTransaction): SessionHistoryTransaction {
    const { ids } = this.#run;
    const given = structuredClone(transaction);
    if (given.type === "append_items") return { ...given, items: ids.providedItems(given.items) };
    const [expectedSuffix, replacement] = [given.expectedSuffix, given.replacement].map((items) =>
      ids.providedItems(items),
    );
    return { ...given, expectedSuffix, replacement } as SessionHistoryTransaction;
  }

  #grow(by: number): void {
    if (this.#length !== undefined) this.#length += by;
  }

  /** Returns how many of these items an earlier process has already added. */
  async #alreadyAdded(items: readonly AgentInputItem[]): Promise<number> {
    if (!this.#isRepeated || this.#length === undefined) return 0;
    const found = (await this.#session.getItems()).slice(this.#length);
    const missing = items.findIndex((item, index) => !isSameValue(item, found[index]));
    return missing < 0 ? items.length : missing;
  }
}
