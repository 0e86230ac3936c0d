import type { Attributes } from "../items/attributes.ts";
import type { DynamoDBConnection, FoundItem } from "../items/DynamoDBConnection.ts";
import { slotKey, slotOf, slotRange } from "../items/itemKeys.ts";
import { noSlots, type SlotState, stateAttributes, stateNames, stateOf } from "./SlotState.ts";

/** What is in the last slot of an agent. */
export interface LastSlot {
  /** Of the owner whose append or claim it is; 0: there is none. */
  readonly generation: number;
  /** Whether it is a claim, which the first append of its owner replaces. */
  readonly isClaim: boolean;
  /** Whether a drop has not removed all yet. */
  readonly unswept: boolean;
  readonly state: SlotState;
}

/**
 * The slots of agents: each has an append, or the claim of an owner who has appended nothing yet. An append is stored only
 * in an empty slot or in the place of its owner's claim, and a claim only in an empty slot or in the place of an older
 * claim that was seen. So who comes late, or twice, or after a take-over, finds its slot taken. The first append of an owner is never
 * removed, only its bytes: otherwise its slot would be empty for an owner before.
 */
export class SlotChain {
  readonly #connection: DynamoDBConnection;

  constructor(connection: DynamoDBConnection) {
    this.#connection = connection;
  }

  async last(agentId: string): Promise<LastSlot> {
    const only = [...stateNames, "claim", "gen", "unswept"];
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

  /**
   * Stores the claim of an owner behind the last append, if that slot is as it was seen: an older claim there may say since
   * that the agent was dropped.
   */
  async claim(agentId: string, generation: number, { state, unswept, ...last }: LastSlot): Promise<void> {
    const attributes = { claim: generation, ...stateAttributes(state), ...(unswept && { unswept: 1 }) };
    const condition = last.isClaim
      ? { if: "#claim = :seen AND #start = :start", values: { ":seen": last.generation, ":start": state.start } }
      : { if: "attribute_not_exists(#pk)" };
    await this.#connection.put(slotKey(agentId, state.slot + 1), attributes, condition);
  }

  /** Stores an item behind a state, in the place of the claim of this generation. False: somebody else is there. */
  append(agentId: string, claim: number, { slot }: SlotState, attributes: Attributes): Promise<boolean> {
    const condition = { if: "attribute_not_exists(#pk) OR #claim = :g", values: { ":g": claim } };
    return this.#connection.put(slotKey(agentId, slot + 1), attributes, condition);
  }

  /** The item in a slot. */
  get(agentId: string, slot: number): Promise<FoundItem | undefined> {
    return this.#connection.get(slotKey(agentId, slot));
  }
}

/** The state that an item says: a claim is no append, so it speaks of the slot before. */
export function slotState(item: FoundItem): SlotState {
  return stateOf(slotOf(item.sk) - (item["claim"] === undefined ? 0 : 1), item);
}
