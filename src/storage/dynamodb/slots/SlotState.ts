import type { Attributes } from "../items/attributes.ts";

/**
 * What the last item of a log says of the log. A slot is the place of an append, and slots of an agent count on for ever:
 * positions do so, too, but for a log that was taken from elsewhere, whose positions are its own.
 */
export interface SlotState {
  /** The slot of the last append. */
  readonly slot: number;
  /** What a slot is above the position of its append. */
  readonly offset: number;
  /** The position of the last append before the agent was dropped. */
  readonly start: number;
  /** The position of the newest snapshot; 0: none. */
  readonly snapshot: number;
  /** The positions of the appends that name removed ones. */
  readonly pruned: readonly number[];
  /** The generation of the owner that took the appends of another log, and the last of their positions. 0: nobody. */
  readonly taken: { readonly by: number; readonly end: number };
}

/** Before the first append. */
export const noSlots: SlotState = { slot: 0, offset: 0, start: 0, snapshot: 0, pruned: [], taken: { by: 0, end: 0 } };

/** The position of the last append. */
export function endOf({ slot, offset }: SlotState): number {
  return slot - offset;
}

/** What follows once an append is there. */
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

/** The state as attributes of an item, whose key says the slot. */
export function stateAttributes({ offset, start, snapshot, pruned, taken }: SlotState): Attributes {
  return {
    ...(offset !== 0 && { offset }),
    start,
    ...(snapshot !== 0 && { snapshot }),
    ...(pruned.length > 0 && { pruned }),
    ...(taken.by !== 0 && { takenBy: taken.by, takenEnd: taken.end }),
  };
}

/** The inverse of {@link stateAttributes}. */
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

/** The attributes that a state is read from. */
export const stateNames: readonly string[] = ["offset", "start", "snapshot", "pruned", "takenBy", "takenEnd"];
