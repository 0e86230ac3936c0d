import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import { together } from "../../../internal/together.ts";
import type { Condition, DynamoDBConnection, FoundItem } from "../items/DynamoDBConnection.ts";
import {
  compareBytes,
  type ItemKey,
  type KeyRange,
  listPartition,
  placeBytes,
  placeKey,
  sortedPart,
} from "../items/itemKeys.ts";
import { DueEntries, isSameDue } from "./DueEntries.ts";
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
 * The lists of agents, one per status and one for all agents. An entry means that the agent is possibly at this place
 * of the list. The agent's summary decides. A list may contain outdated entries, but it never misses an agent.
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

  /** Adds the entries for the next state of an agent. Until it is stored, they also match the current state. */
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

  /** Removes the entries of a picture. Keeps entries of the other picture and entries of later steps. */
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
    // Sorts entries whose keys share the hashed prefix.
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

/** An agent has two entries while its due time changes. */
function distinct(entries: readonly ListEntry[]): readonly ListEntry[] {
  return entries.filter(({ place }, at) => at === 0 || compareBytes((entries[at - 1] as ListEntry).place, place) !== 0);
}

function rangeBehind(status: string | undefined, behind: Uint8Array | undefined): KeyRange {
  const from = behind === undefined || behind.length === 0 ? Uint8Array.of(0) : sortedPart(behind);
  return { pk: listPartition(status), from, to: lastPlace };
}

function queryOf(status: string | undefined, { dueBefore, updatedBefore, limit }: EntrySelection) {
  // One entry more shows that no other entry shares the hashed prefix of the last one.
  const page = { limit: limit + 1 };
  if (status === undefined) return page;
  const asked = [
    ...(dueBefore === undefined ? [] : ["#due <= :due"]),
    ...(updatedBefore === undefined ? [] : ["#updated <= :updated"]),
  ];
  // A limit counts the entries before the filter, so that many pages could be empty.
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
