import type {
  AgentInputItem,
  SessionHistoryRewriteArgs,
  SessionHistoryTransaction,
  SessionHistoryTransactionArgs,
} from "@openai/agents-core";
import { hostedTool } from "../../hosted/HostedTool.ts";
import type { SessionChange } from "../session/SessionChange.ts";
import type { CallId } from "../session/sessionRecords.ts";
import type { ReadItems, SessionStore } from "../session/SessionStore.ts";
import type { DurableRun } from "./DurableRun.ts";

const reading = hostedTool("read_session", { effect: "none" });

/** A PersistenceSession in a run: the session itself remembers how much of its changes the run has made. */
export class StoredRunSession {
  readonly #store: SessionStore;
  readonly #run: DurableRun;
  readonly #name: string;
  /** How much of its changes the run has come to, in this process. */
  #done = 0;

  constructor(store: SessionStore, run: DurableRun, name: string) {
    this.#store = store;
    this.#run = run;
    this.#name = name;
  }

  /** Records which items were read, and not the items. */
  async getItems(limit = Number.POSITIVE_INFINITY): Promise<AgentInputItem[]> {
    let read: ReadItems | undefined;
    const perform = async () =>
      (read = await this.#store.numberedItems(this.#done === 0 ? this.#name : undefined)).numbers;
    const numbers = (await this.#run.loop.step({ tool: reading, input: null, perform })) as ReadItems["numbers"];
    const items = read?.items ?? (await this.#store.itemsOf(numbers));
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
    // A repetition finds the calls replaced, and changes nothing.
    if (await this.#run.mayChange()) await this.#store.mutate(structuredClone(mutations));
  }

  /** The SDK makes its ids at random: a repetition has others. */
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
