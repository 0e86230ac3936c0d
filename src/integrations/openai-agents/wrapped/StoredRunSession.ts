import type {
  AgentInputItem,
  SessionHistoryRewriteArgs,
  SessionHistoryTransaction,
  SessionHistoryTransactionArgs,
  Session,
} from "@openai/agents-core";
import { hostedTool } from "../../hosted/HostedTool.ts";
import type { SessionChange } from "../session/SessionState.ts";
import type { CallId } from "../session/sessionRecords.ts";
import { type ReadItems, type SessionStore, storeOf } from "../session/SessionStore.ts";
import { type DurableRun, currentCall } from "./DurableRun.ts";
import { ForeignRunSession } from "./ForeignRunSession.ts";

const reading = hostedTool("read_session", { effect: "none" });
/**
 * The removal of items is recorded as a call with an effect. So the start of the call is durable first, and only the
 * owner of the run removes items. A rollback of this call does nothing, because the restarted run removes the items
 * that it finds.
 */
export const takingBack = hostedTool("take_back_session_items", { effect: "idempotent", rollback: () => undefined });

/** A PersistenceSession inside a run. The session stores how many of its changes the run has applied. */
export class StoredRunSession {
  readonly #store: SessionStore;
  readonly #run: DurableRun;
  readonly #name: string;
  /** The number of session changes that the run has made or replayed in this process. */
  #done = 0;

  constructor(store: SessionStore, run: DurableRun, name: string) {
    this.#store = store;
    this.#run = run;
    this.#name = name;
  }

  /** Records the numbers of the items, because the session already stores the items. */
  async getItems(limit = Number.POSITIVE_INFINITY): Promise<AgentInputItem[]> {
    const { loop } = this.#run;
    let read: ReadItems | undefined;
    const look = async () => {
      read = await this.#store.numberedItems(this.#name);
      // The session has changes of the run, but the run is at its first change. A rollback has therefore reset the run, or
      // the changes are those of a deleted run.
      return this.#done === 0 && read.done > 0 ? null : read.numbers;
    };
    const takeBack = async () => {
      if (await this.#run.isReopened()) await this.#store.takeBack(this.#name);
      else await this.#store.forgetRun(this.#name);
      read = await this.#store.numberedItems(this.#name);
      return read.numbers;
    };
    const found = await loop.step({ tool: reading, input: null, perform: look });
    const numbers = found ?? (await loop.step({ tool: takingBack, input: null, perform: takeBack }));
    const items = read?.items ?? (await this.#store.itemsOf(numbers as ReadItems["numbers"]));
    this.#run.ids.learn(await this.#store.callIds());
    return limit > 0 ? items.slice(Math.max(items.length - limit, 0)) : [];
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
    // In a replay the calls are already replaced, so the change has no effect.
    if (await this.#run.mayChange()) await this.#store.mutate(structuredClone(mutations));
  }

  /** Ignores the operation id, because the SDK generates random ids that differ in a replay. */
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

/** Wraps a session for a durable run. A replay reads the same items as before and adds no item twice. */
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
      // The SDK detects capabilities by their methods, so the wrapper must not add any.
      const source = key in target && key in own ? own : target;
      const value: unknown = Reflect.get(source, key);
      return typeof value === "function" ? value.bind(source) : value;
    },
  });
  views.set(call, view);
  return view;
}
