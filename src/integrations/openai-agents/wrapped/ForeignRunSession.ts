import type { AgentInputItem, Session, SessionHistoryTransactionArgs } from "@openai/agents-core";
import { isSessionHistoryTransactionAwareSession } from "@openai/agents-core";
import { isSameValue } from "../../../checkpoint/values/isSameValue.ts";
import { hostedTool } from "../../hosted/HostedTool.ts";
import type { DurableRun } from "./DurableRun.ts";
import type { AnyContext } from "./AnyAgent.ts";

const reading = hostedTool("read_session", { effect: "none" });

/**
 * A session of another kind in a run: it cannot say what the run has added, so its items are recorded when they are read, and
 * compared when the run is repeated.
 */
export class ForeignRunSession {
  readonly #session: Session;
  readonly #run: DurableRun;
  readonly #name: string;
  /** What the session holds as far as the run knows. Absent: the run has not read it. */
  #items: AgentInputItem[] | undefined;
  #isRepeated = false;
  #transactions = 0;

  constructor(session: Session, run: DurableRun, name: string) {
    this.#session = session;
    this.#run = run;
    this.#name = name;
  }

  async getItems(...limits: [limit?: number, context?: AnyContext]): Promise<AgentInputItem[]> {
    let isRead = false;
    const perform = async () => {
      isRead = true;
      return this.#session.getItems(...(limits as [number?]));
    };
    const items = (await this.#run.loop.step({ tool: reading, input: null, perform })) as AgentInputItem[];
    this.#isRepeated ||= !isRead;
    if (limits[0] === undefined) this.#items = structuredClone(items);
    return structuredClone(items);
  }

  async addItems(items: AgentInputItem[], ...context: [AnyContext?]): Promise<void> {
    const given = structuredClone(items);
    if (await this.#run.mayChange()) {
      const rest = given.slice(await this.#alreadyAdded(given));
      if (rest.length > 0) await this.#session.addItems(rest, ...(context as []));
    }
    this.#items?.push(...given);
  }

  async clearSession(...context: [AnyContext?]): Promise<void> {
    if (await this.#run.mayChange()) await this.#session.clearSession(...(context as []));
    this.#items &&= [];
  }

  async applyHistoryTransaction(
    { transaction }: SessionHistoryTransactionArgs,
    ...context: [AnyContext?]
  ): Promise<void> {
    const given = structuredClone(transaction);
    // The SDK makes its ids at random: a repetition has others.
    const operationId = `${this.#name}#${this.#transactions++}`;
    if ((await this.#run.mayChange()) && isSessionHistoryTransactionAwareSession(this.#session))
      await this.#session.applyHistoryTransaction({ operationId, transaction: given }, ...context);
    if (given.type === "append_items") this.#items?.push(...given.items);
    else this.#items?.splice(-given.expectedSuffix.length, given.expectedSuffix.length, ...given.replacement);
  }

  /** How many of these items an earlier process has added. */
  async #alreadyAdded(items: readonly AgentInputItem[]): Promise<number> {
    if (!this.#isRepeated || !this.#items) return 0;
    const found = (await this.#session.getItems()).slice(this.#items.length);
    const missing = items.findIndex((item, index) => !isSameValue(item, found[index]));
    return missing < 0 ? items.length : missing;
  }
}
