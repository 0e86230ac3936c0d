import type { Clock } from "../../../internal/Clock.ts";
import { together } from "../../../internal/together.ts";
import type { TableSummary } from "../../table/LogTable.ts";
import { type DynamoDBConnection, partKeys, putParts } from "../items/DynamoDBConnection.ts";
import { summaryKey } from "../items/itemKeys.ts";
import type { ListEntries } from "./ListEntries.ts";
import {
  isRemoval,
  isSameStep,
  type ListMark,
  type Picture,
  pictureOf,
  pictureParts,
  type Pictures,
  picturesItem,
  picturesOf,
  type Removal,
} from "./Picture.ts";
import type { SlotChain } from "../slots/SlotState.ts";

/** The maximum size of an inline text. Two texts must fit into one item. */
const inlineText = 150 * 1024;

interface Resolved {
  readonly pictures: Pictures | undefined;
  readonly current: Picture | undefined;
  /** Pictures that are outdated or were never stored. */
  readonly obsolete: readonly Picture[];
}

/**
 * Maintains the summaries of agents. A change is marked before its append and settled after the append, so an agent is
 * listed no later than its append. While a mark is not settled, the log shows which summary is valid.
 */
export class Summaries {
  readonly #connection: DynamoDBConnection;
  readonly #slots: SlotChain;
  readonly #entries: ListEntries;
  readonly #clock: Clock;

  constructor(connection: DynamoDBConnection, slots: SlotChain, entries: ListEntries, clock: Clock) {
    this.#connection = connection;
    this.#slots = slots;
    this.#entries = entries;
    this.#clock = clock;
  }

  async resolve(agentId: string, known?: Pictures): Promise<Resolved> {
    const pictures = known ?? (await this.#read(agentId));
    const { current, next } = pictures ?? {};
    if (next === undefined) return { pictures, current, obsolete: [] };
    const picture = isRemoval(next) ? undefined : next;
    if (await this.#isStored(agentId, next)) return { pictures, current: picture, obsolete: listOf(current) };
    // Another process may have settled the mark and removed its append in the meantime.
    const now = await this.#read(agentId);
    return isSameStep(now, pictures) ? { pictures, current, obsolete: listOf(picture) } : this.resolve(agentId, now);
  }

  /** Marks the next append. Returns `false` if another owner took over. */
  async mark(
    agentId: string,
    summary: TableSummary,
    { slot, generation }: Pick<Picture, "slot" | "generation">,
    known: Pictures | undefined,
  ): Promise<Settling | false> {
    const { current, obsolete } = await this.resolve(agentId, known);
    const given = pictureOf(summary, slot, generation, {});
    const text = new TextEncoder().encode(summary.text);
    const content = await putParts(this.#connection, pictureParts(agentId, given), text, inlineText);
    const next = { ...given, content };
    const pictures = { generation, step: 2 * slot, current, next };
    const [written] = await together(
      this.#write(agentId, pictures),
      this.#entries.put(agentId, next, pictures.step, current),
    );
    return written && { pictures, next, obsolete: [...obsolete, ...listOf(current)] };
  }

  /** Marks a deletion. Returns `false` if another owner took over. */
  async markRemoval(agentId: string, removal: Removal): Promise<boolean> {
    const { current, obsolete } = await this.resolve(agentId);
    if (current === undefined) return true;
    const marked = { generation: removal.generation, step: 2 * removal.slot, current, next: removal };
    if (!(await this.#write(agentId, marked))) return false;
    await this.#forget(agentId, obsolete, marked, current);
    return true;
  }

  /** Settles a mark after its append. Returns the resulting state, or `undefined` if the state is unknown. */
  async settle(agentId: string, { pictures, next, obsolete }: Settling): Promise<Pictures | undefined> {
    const settled = { generation: pictures.generation, step: pictures.step + 1, current: next };
    const old = obsolete.filter(({ slot, generation }) => slot !== next.slot || generation !== next.generation);
    // Until it is settled, a mark names the entries that remain after a crash.
    await this.#forget(agentId, old, settled, next);
    return (await this.#write(agentId, settled)) ? settled : undefined;
  }

  /** Settles marks of earlier owners and marks with an unknown outcome. After that, their appends may be removed. */
  async repair(agentId: string, { generation, slot }: Pick<Picture, "generation" | "slot">): Promise<void> {
    const { pictures, current, obsolete } = await this.resolve(agentId);
    if (pictures?.next === undefined) return;
    // The step of a settled mark is lower than the step of the owner's next mark.
    const settled = { generation, step: 2 * slot + 1, current };
    await this.#forget(agentId, obsolete, settled, current);
    await this.#write(agentId, settled);
  }

  /** Deletes the items of a dropped agent up to this generation. The remaining item rejects late marks. */
  async remove(agentId: string, generation: number, expires: number | undefined): Promise<void> {
    const pictures = await this.#read(agentId);
    if (pictures === undefined || pictures.generation > generation) return;
    const { current, next } = pictures;
    const all = [...listOf(current), ...(next && !isRemoval(next) ? [next] : [])];
    const nothing = { generation, step: Number.MAX_SAFE_INTEGER };
    await this.#forget(agentId, all, nothing, undefined);
    await this.#write(agentId, nothing, expires);
  }

  async #read(agentId: string): Promise<Pictures | undefined> {
    const item = await this.#connection.get(summaryKey(agentId));
    return item && picturesOf(item);
  }

  /** Returns `false` if a newer owner or step was written. An expired item counts as removed. */
  #write(agentId: string, pictures: Pictures, expires?: number): Promise<boolean> {
    const condition = {
      if: "attribute_not_exists(#pk) OR #gen < :g OR (#gen = :g AND #step <= :s) OR #expires <= :now",
      values: { ":g": pictures.generation, ":s": pictures.step, ":now": Math.floor(this.#clock.now() / 1000) },
    };
    return this.#connection.put(summaryKey(agentId), { ...picturesItem(pictures), expires }, condition);
  }

  async #isStored(agentId: string, mark: ListMark): Promise<boolean> {
    const item = await this.#slots.get(agentId, mark.slot);
    // The next owner keeps the start that a drop stored, so the start proves the drop.
    if (isRemoval(mark)) return Number(item?.["start"] ?? 0) >= mark.start;
    return item?.["gen"] === mark.generation;
  }

  async #forget(
    agentId: string,
    pictures: readonly Picture[],
    written: Pick<Pictures, "generation" | "step">,
    kept: Picture | undefined,
  ): Promise<void> {
    for (const picture of pictures) {
      await this.#entries.remove(agentId, picture, written, kept);
      await this.#connection.deleteAll(partKeys(pictureParts(agentId, picture), picture.content));
    }
  }
}

function listOf(picture: Picture | undefined): readonly Picture[] {
  return picture ? [picture] : [];
}

/** A mark whose append follows. */
export interface Settling {
  readonly pictures: Pictures;
  readonly next: Picture;
  readonly obsolete: readonly Picture[];
}
