import type { Attributes, DynamoDBConnection, FoundItem } from "../items/DynamoDBConnection.ts";
import { slotKey, slotOf, slotRange } from "../items/itemKeys.ts";

/**
 * The state of a log, which its last item contains. Items are numbered by slots, which never restart for an agent. The
 * position of an append is its slot minus `offset`, except for imported appends.
 */
export interface SlotState {
  readonly slot: number;
  readonly offset: number;
  /** The position of the last append before the agent was dropped. */
  readonly start: number;
  readonly snapshot: number;
  readonly pruned: readonly number[];
  /** `by`: the generation that imported appends, or 0. `end`: the last imported position. */
  readonly taken: { readonly by: number; readonly end: number };
}

export const noSlots: SlotState = { slot: 0, offset: 0, start: 0, snapshot: 0, pruned: [], taken: { by: 0, end: 0 } };

export function endPosition({ slot, offset }: SlotState): number {
  return slot - offset;
}

export function stateAfter(
  state: SlotState,
  { snapshot, pruned }: { readonly snapshot: boolean; readonly pruned: boolean },
): SlotState {
  const position = endPosition(state) + 1;
  return {
    ...state,
    slot: state.slot + 1,
    ...(snapshot && { snapshot: position }),
    ...(pruned && { pruned: [...state.pruned, position] }),
  };
}

export function stateAttributes({ offset, start, snapshot, pruned, taken }: SlotState): Attributes {
  return {
    ...(offset !== 0 && { offset }),
    start,
    ...(snapshot !== 0 && { snapshot }),
    ...(pruned.length > 0 && { pruned }),
    ...(taken.by !== 0 && { takenBy: taken.by, takenEnd: taken.end }),
  };
}

function slotStateOf(slot: number, item: Attributes): SlotState {
  const number = (name: string) => Number(item[name] ?? 0);
  return {
    slot,
    offset: number("offset"),
    start: number("start"),
    snapshot: number("snapshot"),
    pruned: (item["pruned"] ?? []) as readonly number[],
    taken: { by: number("takenBy"), end: number("takenEnd") },
  };
}

const slotStateFields: readonly string[] = ["offset", "start", "snapshot", "pruned", "takenBy", "takenEnd"];

export interface LastSlot {
  readonly generation: number;
  readonly isClaim: boolean;
  readonly unswept: boolean;
  readonly state: SlotState;
}

/**
 * The numbered slots of an agent. A slot contains an append, or the claim of an owner that has not appended yet. An
 * append needs an empty slot or its owner's claim. A claim needs an empty slot or the older claim that was read.
 * Therefore a late or repeated write, or a write after a takeover, finds its slot occupied. The item of an owner's
 * first append is never removed, only its bytes, because otherwise an earlier owner would find the slot empty.
 */
export class SlotChain {
  readonly #connection: DynamoDBConnection;

  constructor(connection: DynamoDBConnection) {
    this.#connection = connection;
  }

  async last(agentId: string): Promise<LastSlot> {
    const only = [...slotStateFields, "claim", "gen", "unswept", "expires"];
    const { items } = await this.#connection.query(slotRange(agentId, 1), { descending: true, limit: 1, only });
    const [item] = items;
    return item === undefined
      ? { generation: 0, isClaim: false, unswept: false, state: noSlots }
      : {
          generation: Number(item["claim"] ?? item["gen"]),
          isClaim: item["claim"] !== undefined,
          unswept: item["unswept"] !== undefined,
          state: slotState(item),
        };
  }

  /** Stores the claim of an owner after the last append, if that slot and its claim are unchanged. */
  async claim(agentId: string, generation: number, { state, unswept, ...last }: LastSlot): Promise<void> {
    const attributes = { claim: generation, ...stateAttributes(state), ...(unswept && { unswept: 1 }) };
    const condition = last.isClaim
      ? { if: "#claim = :seen AND #start = :start", values: { ":seen": last.generation, ":start": state.start } }
      : { if: "attribute_not_exists(#pk)" };
    await this.#connection.put(slotKey(agentId, state.slot + 1), attributes, condition);
  }

  /** Stores an item in the next slot, if the slot is empty or contains the owner's claim. `false` otherwise. */
  append(agentId: string, claim: number, { slot }: SlotState, attributes: Attributes): Promise<boolean> {
    const condition = { if: "attribute_not_exists(#pk) OR #claim = :g", values: { ":g": claim } };
    return this.#connection.put(slotKey(agentId, slot + 1), attributes, condition);
  }

  get(agentId: string, slot: number): Promise<FoundItem | undefined> {
    return this.#connection.get(slotKey(agentId, slot));
  }
}

/**
 * Returns the state of the log that an item contains. For a claim, returns the state before the claim. An expiring item
 * belongs to a dropped log, which restarts after this item: DynamoDB removes such items in any order, so this item can
 * be the last one.
 */
function slotState(item: FoundItem): SlotState {
  const state = slotStateOf(slotOf(item.sk) - (item["claim"] === undefined ? 0 : 1), item);
  const { slot, offset } = state;
  return item["expires"] === undefined ? state : { ...noSlots, slot, offset, start: endPosition(state) };
}
