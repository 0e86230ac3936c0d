import {
  type AgentInputItem,
  isSessionHistoryTransactionAwareSession,
  type OpenAIResponsesCompactionOwnershipAwareSession,
  type OpenAIResponsesCompactionResult,
  RequestUsage,
  type Session,
  type SessionHistoryTransaction,
  type SessionHistoryTransactionArgs,
} from "@openai/agents-core";
import { isSameValue } from "../../../checkpoint/values/isSameValue.ts";
import { hostedTool } from "../../hosted/HostedTool.ts";
import type { DurableRun } from "./DurableRun.ts";
import type { AnyContext } from "./AnyAgent.ts";

/** The session methods that the SDK may call. A wrapped session has only the methods of the original. */
type AnySession = Session & OpenAIResponsesCompactionOwnershipAwareSession;
type CompactionArgs = Parameters<AnySession["runCompaction"]>;

interface Compacted {
  /** The usage, as fields of a `RequestUsage`. `null` if no compaction was needed. */
  readonly usage: ConstructorParameters<typeof RequestUsage>[0] | null;
  readonly length: number;
}

const reading = hostedTool("read_session_items", { effect: "none" });
const compacting = hostedTool("compact_session", { effect: "none" });

/**
 * A session of another library inside a run. It cannot report which items the run added. So its items are recorded when
 * they are read, and compared when the run is replayed. As with the SDK alone, it stores the provider's ids of calls.
 */
export class ForeignRunSession {
  readonly #session: AnySession;
  readonly #run: DurableRun;
  readonly #name: string;
  /** The number of items in the session as known to the run, or `undefined` before the first read. */
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
    return limit > 0 ? items.slice(Math.max(items.length - limit, 0)) : [];
  }

  async getItemsWithCompactionOwnership(
    ...context: [AnyContext?]
  ): Promise<{ items: AgentInputItem[]; ownership: object }> {
    // Used in a replay. The session does not know this ownership and therefore does not replace its items.
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
    // The SDK generates random ids, which differ in a replay.
    const operationId = `${this.#name}#${this.#transactions++}`;
    if ((await this.#run.mayChange()) && isSessionHistoryTransactionAwareSession(this.#session))
      await this.#session.applyHistoryTransaction({ operationId, transaction: given }, ...context);
    if (given.type === "append_items") this.#grow(given.items.length);
    else this.#grow(given.replacement.length - given.expectedSuffix.length);
  }

  /** The result is recorded, because a replay finds the session already compacted. */
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
    const items = (await this.#run.loop.step({ tool: reading, input: null, perform })) as AgentInputItem[];
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

  /** Returns how many of these items an earlier process has added. */
  async #alreadyAdded(items: readonly AgentInputItem[]): Promise<number> {
    if (!this.#isRepeated || this.#length === undefined) return 0;
    const found = (await this.#session.getItems()).slice(this.#length);
    const missing = items.findIndex((item, index) => !isSameValue(item, found[index]));
    return missing < 0 ? items.length : missing;
  }
}
