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

/** The maximum size of a summary text within its item, in bytes. The item can contain two texts. */
const inlineText = 150 * 1024;

interface Resolved {
  readonly pictures: Pictures | undefined;
  readonly current: Picture | undefined;
  /** Summaries that are outdated, or whose append was not stored. */
  readonly obsolete: readonly Picture[];
}

/**
 * Stores the summaries of agents. Before each append, its summary is stored as a mark. After the append, the mark is
 * settled, which makes it the current summary. Until then, the log shows whether the append of the mark was stored.
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
    // Meanwhile another process possibly settled the mark and removed its append.
    const now = await this.#read(agentId);
    return isSameStep(now, pictures) ? { pictures, current, obsolete: listOf(picture) } : this.resolve(agentId, now);
  }

  /** Stores a mark for the next append. Returns `false` if another owner took over. */
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

  /** Stores a mark for a deletion. Returns `false` if another owner took over. */
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
    // Old entries are removed first. If the process crashes here, the unsettled mark still names the entries.
    await this.#forget(agentId, old, settled, next);
    return (await this.#write(agentId, settled)) ? settled : undefined;
  }

  /** Settles the mark of an earlier owner or of an unknown outcome, so that its append may be removed. */
  async repair(agentId: string, { generation, slot }: Pick<Picture, "generation" | "slot">): Promise<void> {
    const { pictures, current, obsolete } = await this.resolve(agentId);
    if (pictures?.next === undefined) return;
    // This step is lower than the step of the owner's next mark.
    const settled = { generation, step: 2 * slot + 1, current };
    await this.#forget(agentId, obsolete, settled, current);
    await this.#write(agentId, settled);
  }

  /** Deletes the summaries and list entries of a dropped agent. The remaining item rejects late marks. */
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
    // Later claims keep the `start` that a drop stored, so a `start` at or after this position proves the drop.
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

/** A stored mark, and the summaries to remove when it is settled. */
export interface Settling {
  readonly pictures: Pictures;
  readonly next: Picture;
  readonly obsolete: readonly Picture[];
}
