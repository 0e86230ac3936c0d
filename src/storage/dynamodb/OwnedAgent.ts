import type { TableAppend, TableGap, TablePublication, TableSummary } from "../table/LogTable.ts";
import { type FoundItem, type DynamoDBConnection, partKeys, putParts } from "./items/DynamoDBConnection.ts";
import {
  type ItemKey,
  stagedKey,
  stagedPosition,
  stagedUpTo,
  slotKey,
  blobRange,
  type KeyRange,
  partsUpTo,
  slotRange,
} from "./items/itemKeys.ts";
import type { Pictures } from "./lists/Picture.ts";
import { appendParts, takenParts, type SlotReader } from "./slots/SlotReader.ts";
import {
  endPosition,
  noSlots,
  stateAfter,
  stateAttributes,
  type SlotState,
  type SlotChain,
} from "./slots/SlotState.ts";
import type { AgentHeads } from "./slots/AgentHeads.ts";
import type { Settling, Summaries } from "./lists/Summaries.ts";
import { removeBlob } from "./DynamoDBBlobs.ts";

export interface DynamoDBBackend {
  readonly connection: DynamoDBConnection;
  readonly heads: AgentHeads;
  readonly slots: SlotChain;
  readonly reader: SlotReader;
  readonly summaries: Summaries;
  /** Returns when the last items of a dropped agent expire, in seconds since 1970. `undefined` for never. */
  expires(): number | undefined;
}

interface SlotOwner {
  readonly agentId: string;
  readonly generation: number;
  readonly owner: string;
}

/**
 * An agent that this process owns. Each append also stores the state of the log, so the owner keeps this state in
 * memory. A retry stores the same append. An append with a lost response counts as stored once the next one is
 * requested.
 */
export class OwnedAgent {
  /** The generation of the claim in the log. An import raises only {@link OwnedAgent.generation}. */
  readonly claim: number;
  readonly #backend: DynamoDBBackend;
  readonly #agentId: string;
  readonly #owner: string;
  #generation: number;
  #opened: number;
  #state: SlotState;
  /** The state after the last requested append. */
  #asked: SlotState;
  #pictures: Pictures | undefined;
  #marked: Settling | undefined;
  #staged: SlotState = noSlots;

  constructor(backend: DynamoDBBackend, { agentId, generation, owner }: SlotOwner, state: SlotState) {
    this.#backend = backend;
    this.#agentId = agentId;
    this.#owner = owner;
    this.#generation = generation;
    this.claim = generation;
    this.#opened = state.slot;
    this.#state = state;
    this.#asked = state;
  }

  get generation(): number {
    return this.#generation;
  }

  /** Returns `false` if another owner took over, or if the position does not follow the last append. */
  async append(append: TableAppend): Promise<boolean> {
    if (append.position === endPosition(this.#asked) + 1) this.#state = this.#asked;
    const before = this.#state;
    if (append.position !== endPosition(before) + 1) return false;
    return this.#store(append, before);
  }

  /** Deletes appends. A stored record already names these appends as removed, so readers do not miss them. */
  async remove(ranges: readonly TableGap[]): Promise<boolean> {
    if (!(await this.#isOwner())) return false;
    const { summaries, reader, connection } = this.#backend;
    await summaries.repair(this.#agentId, { generation: this.#generation, slot: this.#asked.slot });
    this.#pictures = undefined;
    const state = this.#asked;
    for (const [first, last] of ranges) {
      if (last <= state.start) continue;
      for (const { range, isTaken } of reader.segments(this.#agentId, state, Math.max(first, state.start + 1), last))
        await (isTaken ? this.#removeTaken(range) : removeSlots(connection, this.#agentId, range));
    }
    const isThere = (position: number) => !ranges.some(([first, last]) => first <= position && position <= last);
    const pruned = state.pruned.filter(isThere);
    this.#state = { ...this.#state, pruned: this.#state.pruned.filter(isThere) };
    this.#asked = { ...state, pruned };
    return true;
  }

  /** Drops the agent. A claim in the next slot restarts the log there. Later owners remove left items. */
  async drop(): Promise<boolean> {
    if (!(await this.#isOwner())) return false;
    const { summaries, slots, heads } = this.#backend;
    const [agentId, generation, state] = [this.#agentId, this.#generation, this.#asked];
    const start = endPosition(state);
    if (!(await summaries.markRemoval(agentId, { slot: state.slot + 1, generation, start }))) return false;
    const claim = {
      claim: generation,
      ...stateAttributes({ ...noSlots, slot: state.slot, offset: state.offset, start }),
    };
    if (!(await this.#putClaim(state, { ...claim, unswept: 1 }))) return false;
    const expires = this.#backend.expires();
    await sweepDropped(this.#backend, { agentId, generation, slot: state.slot, expires });
    await slots.append(agentId, generation, state, { ...claim, ...(expires !== undefined && { expires }) });
    await heads.release(agentId, generation, expires);
    return true;
  }

  async stage(appends: readonly TableAppend[], first: boolean): Promise<boolean> {
    if (!(await this.#isOwner())) return false;
    const { connection } = this.#backend;
    if (first) {
      await removeAll(connection, stagedUpTo(this.#agentId, this.#generation));
      this.#staged = noSlots;
    }
    const items: FoundItem[] = [];
    for (const append of appends) {
      this.#staged = stateAfter({ ...this.#staged, slot: append.position - 1 }, append);
      const { snapshot } = this.#staged;
      const content = await putParts(
        connection,
        takenParts(this.#agentId, this.#generation, append.position),
        append.encoded,
      );
      items.push({ ...stagedKey(this.#agentId, this.#generation, append.position), snapshot, ...content });
    }
    await connection.putAll(items);
    return true;
  }

  /** Publishes the staged appends, with one more append that replaces the claim. */
  async publish({ generation, start, append }: TablePublication): Promise<boolean> {
    const { heads, slots } = this.#backend;
    if (!(await heads.raise(this.#agentId, this.#owner, this.#generation, generation))) return false;
    const end = append.position - 1;
    const { slot } = this.#state;
    const { snapshot, pruned } = this.#staged;
    this.#state = { slot, offset: slot - end, start, snapshot, pruned, taken: { by: this.#generation, end } };
    this.#generation = generation;
    this.#opened = slot;
    if (await this.#store(append, this.#state)) return true;
    return (await slots.get(this.#agentId, slot + 1))?.["gen"] === generation;
  }

  async #store(append: TableAppend, before: SlotState): Promise<boolean> {
    const { connection, slots, summaries } = this.#backend;
    const [agentId, generation, slot] = [this.#agentId, this.#generation, before.slot + 1];
    const marked = append.summary && (await this.#mark(append.summary, slot));
    if (marked === false) return false;
    this.#asked = stateAfter(before, append);
    const first = before.slot === this.#opened ? 1 : undefined;
    const item = { gen: generation, first, ...stateAttributes(this.#asked) };
    const content = await putParts(
      connection,
      appendParts(agentId, { ...slotKey(agentId, slot), ...item }),
      append.encoded,
    );
    const isNew = await slots.append(agentId, this.claim, before, { ...item, ...content });
    // If an earlier attempt stored the append, only its summary must still be settled.
    if (!isNew && !(marked && (await slots.get(agentId, slot))?.["gen"] === generation)) return false;
    // The append is already stored, so a failure is ignored. Lists then read the log to find the valid summary.
    if (marked) this.#pictures = await summaries.settle(agentId, marked).catch(() => undefined);
    return isNew;
  }

  /** Stores the summary of the next append as a mark, unless an earlier attempt of this append has stored it. */
  async #mark(summary: TableSummary, slot: number): Promise<Settling | false> {
    if (this.#marked?.next.slot === slot) return this.#marked;
    const at = { slot, generation: this.#generation };
    const marked = await this.#backend.summaries.mark(this.#agentId, summary, at, this.#pictures);
    if (marked) [this.#marked, this.#pictures] = [marked, undefined];
    return marked;
  }

  async #putClaim(state: SlotState, attributes: Parameters<DynamoDBBackend["slots"]["append"]>[3]): Promise<boolean> {
    const { slots } = this.#backend;
    if (await slots.append(this.#agentId, this.claim, state, attributes)) return true;
    // The client may have retried a request that succeeded.
    const item = await slots.get(this.#agentId, state.slot + 1);
    return item?.["claim"] === this.#generation && item["unswept"] !== undefined;
  }

  async #removeTaken(range: Parameters<typeof removeAll>[1]): Promise<void> {
    const { connection } = this.#backend;
    for await (const page of connection.pages(range, { only: ["parts"] })) {
      const parts = (item: FoundItem): readonly ItemKey[] =>
        partKeys(takenParts(this.#agentId, this.#state.taken.by, stagedPosition(item.sk)), item);
      await connection.deleteAll([...page, ...page.flatMap(parts)]);
    }
  }

  #isOwner(): Promise<boolean> {
    return this.#backend.heads.isOwned(this.#agentId, this.#generation);
  }
}

interface Dropped {
  readonly agentId: string;
  readonly generation: number;
  readonly slot: number;
  /** When the remaining items expire, in seconds since 1970. `undefined` if the items are kept. */
  readonly expires?: number | undefined;
}

/** Removes the items of a dropped agent, but not of later generations and slots. Safe to run concurrently. */
export async function sweepDropped(
  { connection, summaries }: { readonly connection: DynamoDBConnection; readonly summaries: Summaries },
  { agentId, generation, slot, expires }: Dropped,
): Promise<void> {
  await summaries.remove(agentId, generation, expires);
  if (slot > 0) await removeSlots(connection, agentId, slotRange(agentId, 1, slot), expires);
  for await (const page of connection.pages(blobRange(agentId), { only: ["gen", "parts", "id"] }))
    for (const item of page) await removeBlob(connection, agentId, item, generation);
  for (const range of [stagedUpTo(agentId, generation), partsUpTo(agentId, generation)])
    await removeAll(connection, range);
}

/**
 * Removes appends. Keeps claims, because an earlier owner could write to an empty slot. For the same reason, keeps the
 * item of an owner's first append, but removes the bytes in it.
 */
async function removeSlots(
  connection: DynamoDBConnection,
  agentId: string,
  range: KeyRange,
  expires?: number,
): Promise<void> {
  for await (const page of connection.pages(range, { only: ["gen", "claim", "first", "parts"] })) {
    const keys: ItemKey[] = [];
    for (const item of page) {
      if (item["gen"] !== undefined) keys.push(...partKeys(appendParts(agentId, item), item));
      if (item["claim"] === undefined && item["first"] === undefined) keys.push(item);
      else if (item["claim"] === undefined || expires !== undefined) await empty(connection, item, expires);
    }
    await connection.deleteAll(keys);
  }
}

async function removeAll(connection: DynamoDBConnection, range: KeyRange): Promise<void> {
  for await (const page of connection.pages(range, { only: [] })) await connection.deleteAll(page);
}

async function empty(connection: DynamoDBConnection, item: FoundItem, expires: number | undefined): Promise<void> {
  const change = `${expires === undefined ? "" : "SET #expires = :expires "}REMOVE #bytes, #parts`;
  const values = expires === undefined ? {} : { values: { ":expires": expires } };
  await connection.update(item, change, { if: "attribute_exists(#pk)", ...values });
}
