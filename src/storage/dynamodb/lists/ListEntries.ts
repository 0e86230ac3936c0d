import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import { together } from "../../../internal/together.ts";
import type { Condition, DynamoDBConnection, FoundItem, Attributes } from "../items/DynamoDBConnection.ts";
import {
  compareBytes,
  type ItemKey,
  type KeyRange,
  listPartition,
  placeBytes,
  placeKey,
  sortedPart,
  dueEntryKey,
  dueMarkKey,
  dueRange,
  isDueMark,
} from "../items/itemKeys.ts";
import type { Picture, Pictures } from "./Picture.ts";
import type { TableSelection } from "../../table/LogTable.ts";

export interface ListEntry {
  readonly agentId: string;
  readonly order: string;
  readonly status?: string | undefined;
  readonly place: Uint8Array;
}

export type EntrySelection = Pick<TableSelection, "after" | "dueBefore" | "updatedBefore" | "limit">;

const lastPlace = new Uint8Array(1024).fill(0xff);

/**
 * The lists of agents, one per status and one for all agents. Each listed agent has an entry. An entry can be outdated,
 * so the summary of its agent decides whether it is valid.
 */
export class ListEntries {
  readonly #connection: DynamoDBConnection;
  readonly #sha256: () => Promise<Sha256>;
  readonly #due: DueEntries;

  constructor(connection: DynamoDBConnection, sha256: () => Promise<Sha256>) {
    this.#connection = connection;
    this.#sha256 = sha256;
    this.#due = new DueEntries(connection, sha256);
  }

  /**
   * Adds the list entries for the next summary of an agent. The times of the entries also match the current summary,
   * which stays valid until the next one is stored.
   */
  async put(agentId: string, next: Picture, step: number, current: Picture | undefined): Promise<void> {
    const { generation, status, order } = next;
    const entry = { agent: agentId, order, gen: generation, step };
    const condition = olderThan({ generation, step }, true);
    const due = lower(next.dueAt, current?.status === status ? current.dueAt : undefined);
    const updated = Math.min(next.updatedAt, current?.updatedAt ?? Infinity);
    const [inStatus, inAll] = [await this.#key(status, order, agentId), await this.#key(undefined, order, agentId)];
    await together(
      this.#connection.put(inStatus, { ...entry, due, updated }, condition),
      order === current?.order || this.#connection.put(inAll, entry, condition),
      isSameDue(next, current) ||
        this.#due.put(agentId, next, { entry, condition, inStatus: rangeBehind(status, undefined) }),
    );
  }

  /** Removes the list entries of a summary, except for entries that `kept` shares and entries of later steps. */
  async remove(
    agentId: string,
    picture: Picture,
    written: Pick<Pictures, "generation" | "step">,
    kept: Picture | undefined,
  ): Promise<void> {
    const { status, order } = picture;
    const condition = olderThan(written, false);
    if (status !== kept?.status || order !== kept.order)
      await this.#connection.delete(await this.#key(status, order, agentId), condition);
    if (order !== kept?.order) await this.#connection.delete(await this.#key(undefined, order, agentId), condition);
    if (!isSameDue(picture, kept)) await this.#due.remove(agentId, picture, condition);
  }

  async *read(status: string | undefined, selection: EntrySelection): AsyncGenerator<ListEntry> {
    const { after, dueBefore } = selection;
    const behind = after === undefined ? undefined : placeBytes(after.order, after.agentId);
    const due = status !== undefined && dueBefore !== undefined && (await this.#due.read(status, dueBefore));
    if (due)
      return yield* distinct(
        inOrder(
          due.map((item) => entryOf(item, status)),
          behind,
        ),
      );
    // Keys with an equal prefix end with a hash, so their entries are sorted here.
    let alike: ListEntry[] = [];
    for await (const items of this.#connection.pages(rangeBehind(status, behind), queryOf(status, selection))) {
      for (const item of items) {
        const entry = entryOf(item, status);
        if (alike[0] && compareBytes(sortedPart(alike[0].place), sortedPart(entry.place)) !== 0) {
          yield* inOrder(alike, behind);
          alike = [];
        }
        alike.push(entry);
      }
    }
    yield* inOrder(alike, behind);
  }

  async #key(status: string | undefined, order: string, agentId: string): Promise<ItemKey> {
    return { pk: listPartition(status), sk: placeKey(order, agentId, await this.#sha256()) };
  }
}

function entryOf({ agent, order }: FoundItem, status: string | undefined): ListEntry {
  const [agentId, text] = [agent as string, order as string];
  return { agentId, order: text, status, place: placeBytes(text, agentId) };
}

function inOrder(entries: readonly ListEntry[], behind: Uint8Array | undefined): readonly ListEntry[] {
  const left = entries.filter(({ place }) => behind === undefined || compareBytes(place, behind) > 0);
  return left.length < 2 ? left : left.toSorted((one, other) => compareBytes(one.place, other.place));
}

/** Removes the second entry of an agent, which exists while its due time changes. */
function distinct(entries: readonly ListEntry[]): readonly ListEntry[] {
  return entries.filter(({ place }, at) => at === 0 || compareBytes((entries[at - 1] as ListEntry).place, place) !== 0);
}

function rangeBehind(status: string | undefined, behind: Uint8Array | undefined): KeyRange {
  const from = behind === undefined || behind.length === 0 ? Uint8Array.of(0) : sortedPart(behind);
  return { pk: listPartition(status), from, to: lastPlace };
}

function queryOf(status: string | undefined, { dueBefore, updatedBefore, limit }: EntrySelection) {
  // With one more entry than the limit, a page shows whether the next key has the same prefix as the last one.
  const page = { limit: limit + 1 };
  if (status === undefined) return page;
  const asked = [
    ...(dueBefore === undefined ? [] : ["#due <= :due"]),
    ...(updatedBefore === undefined ? [] : ["#updated <= :updated"]),
  ];
  // DynamoDB applies a limit before the filter, so that with a limit many pages would be empty.
  if (asked.length === 0) return page;
  const filter: Condition = { if: asked.join(" AND "), values: { ":due": dueBefore, ":updated": updatedBefore } };
  return { filter };
}

function lower(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

function olderThan({ generation, step }: Pick<Pictures, "generation" | "step">, orSame: boolean): Condition {
  const condition = `#gen < :g OR (#gen = :g AND #step ${orSame ? "<=" : "<"} :s)`;
  const values = { ":g": generation, ":s": step };
  return { if: orSame ? `attribute_not_exists(#pk) OR ${condition}` : condition, values };
}

type DuePlace = Pick<Picture, "status" | "order" | "dueAt">;

/**
 * The agents with a due time, one list per status, sorted by this time. A mark shows that a list contains
 * all agents of its status. Earlier versions did not write these lists, so the first write adds the missing agents.
 */
class DueEntries {
  readonly #connection: DynamoDBConnection;
  readonly #sha256: () => Promise<Sha256>;
  readonly #complete = new Map<string, Promise<void>>();

  constructor(connection: DynamoDBConnection, sha256: () => Promise<Sha256>) {
    this.#connection = connection;
    this.#sha256 = sha256;
  }

  /** @param inStatus - the range of all entries with this status, which contain the due times. */
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

  /** Returns the entries that are due, or `undefined` if the list is possibly incomplete. */
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

/** Whether two summaries have the same entry in the list of due times. */
function isSameDue(one: DuePlace, other: DuePlace | undefined): boolean {
  return one.dueAt === other?.dueAt && one.status === other?.status && one.order === other.order;
}
