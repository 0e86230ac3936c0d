import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import type { Attributes } from "../items/attributes.ts";
import type { Condition, DynamoDBConnection, FoundItem } from "../items/DynamoDBConnection.ts";
import { dueEntryKey, dueMarkKey, dueRange, isDueMark, type KeyRange } from "../items/itemKeys.ts";
import type { Picture } from "./Picture.ts";

type DuePlace = Pick<Picture, "status" | "order" | "dueAt">;

/**
 * The agents with a due time, one list per status, sorted by this time. A list has a mark when it contains all agents of
 * its status. Earlier versions did not write these lists, so the first write of a status adds the missing agents.
 */
export class DueEntries {
  readonly #connection: DynamoDBConnection;
  readonly #sha256: () => Promise<Sha256>;
  readonly #complete = new Map<string, Promise<void>>();

  constructor(connection: DynamoDBConnection, sha256: () => Promise<Sha256>) {
    this.#connection = connection;
    this.#sha256 = sha256;
  }

  /** @param inStatus - all entries of the status, which have their due times. */
  async put(
    agentId: string,
    { status, order, dueAt }: DuePlace,
    {
      entry,
      condition,
      inStatus,
    }: { readonly entry: Attributes; readonly condition: Condition; readonly inStatus: KeyRange },
  ): Promise<void> {
    if (dueAt === undefined) return;
    await this.#completed(status, inStatus);
    await this.#connection.put(dueEntryKey({ status, order, dueAt, agentId }, await this.#sha256()), entry, condition);
  }

  async remove(agentId: string, { status, order, dueAt }: DuePlace, condition: Condition): Promise<void> {
    if (dueAt !== undefined)
      await this.#connection.delete(dueEntryKey({ status, order, dueAt, agentId }, await this.#sha256()), condition);
  }

  /** Returns the entries that are due, or `undefined` if the list can lack agents. */
  async read(status: string, dueBefore: number): Promise<readonly FoundItem[] | undefined> {
    const found: FoundItem[] = [];
    for await (const items of this.#connection.pages(dueRange(status, dueBefore))) {
      found.push(...items);
      if (!found[0] || !isDueMark(found[0])) return undefined;
    }
    return found.slice(1);
  }

  #completed(status: string, inStatus: KeyRange): Promise<void> {
    const known = this.#complete.get(status);
    if (known) return known;
    const completed = this.#addMissing(status, inStatus).catch((error: unknown) => {
      this.#complete.delete(status);
      throw error;
    });
    this.#complete.set(status, completed);
    return completed;
  }

  async #addMissing(status: string, inStatus: KeyRange): Promise<void> {
    const mark = dueMarkKey(status);
    if (await this.#connection.get(mark)) return;
    const sha256 = await this.#sha256();
    const missing = { if: "attribute_not_exists(#pk)" };
    for await (const items of this.#connection.pages(inStatus)) {
      for (const { agent, order, gen, step, due } of items) {
        if (typeof due !== "number") continue;
        const key = dueEntryKey({ status, order: order as string, dueAt: due, agentId: agent as string }, sha256);
        await this.#connection.put(key, { agent, order, gen, step }, missing);
      }
    }
    await this.#connection.put(mark, {});
  }
}

/** Whether two summaries have the same entry in the same list. */
export function isSameDue(one: DuePlace, other: DuePlace | undefined): boolean {
  return one.dueAt === other?.dueAt && one.status === other?.status && one.order === other.order;
}
