import type { Attributes } from "../items/attributes.ts";

/**
 * The state of a log as its last item records it. Slots of an agent never restart. Positions equal slots minus
 * `offset`, except in the part of a log that was copied from another log.
 */
export interface SlotState {
  readonly slot: number;
  /** The difference between the slot and the position of an append. */
  readonly offset: number;
  /** The position of the last append before the agent was dropped. */
  readonly start: number;
  readonly snapshot: number;
  readonly pruned: readonly number[];
  /** The generation of the owner that copied the appends of another log, or 0, and their last position. */
  readonly taken: { readonly by: number; readonly end: number };
}

export const noSlots: SlotState = { slot: 0, offset: 0, start: 0, snapshot: 0, pruned: [], taken: { by: 0, end: 0 } };

export function endOf({ slot, offset }: SlotState): number {
  return slot - offset;
}

export function stateAfter(
  state: SlotState,
  { snapshot, pruned }: { readonly snapshot: boolean; readonly pruned: boolean },
): SlotState {
  const position = endOf(state) + 1;
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

export function stateOf(slot: number, item: Attributes): SlotState {
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

export const stateNames: readonly string[] = ["offset", "start", "snapshot", "pruned", "takenBy", "takenEnd"];
