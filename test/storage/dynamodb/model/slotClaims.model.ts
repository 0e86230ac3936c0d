/**
 * How owners share the slots of a log, as a model: three owners with two appends each take one step at a time, in any order.
 * Any one put may arrive a second time at any later moment. The newest owner may prune, and drop the agent once.
 */

/** What may be varied. Each name but the first is a rule that is left out, and must be caught. */
export const variants = [
  "as designed",
  "a claim replaces any claim",
  "an append replaces any claim",
  "nobody looks for a newer owner",
  "owners make no claim",
  "owners do not look again",
  "a drop empties every slot",
  "the first append of an owner is pruned",
] as const;

export type Variant = (typeof variants)[number];

interface Claim {
  readonly claim: number;
}

interface Append {
  readonly by: number;
  readonly number: number;
}

type Slot = Claim | Append | undefined;

interface Owner {
  readonly step: "idle" | "look" | "claim" | "look again" | "own" | "gone";
  readonly generation: number;
  /** The slot of the last append that it knows. */
  readonly at: number;
  readonly appended: number;
}

interface Acknowledged extends Append {
  readonly at: number;
  readonly removed: boolean;
  readonly dropped: boolean;
}

interface Put {
  readonly at: number;
  readonly item: Claim | Append;
}

interface State {
  readonly generation: number;
  /** What is at place 0 is never used. */
  readonly slots: readonly Slot[];
  readonly owners: readonly Owner[];
  /** A put that was carried out, and will be again. */
  readonly late: Put | undefined;
  readonly acknowledged: readonly Acknowledged[];
  readonly opened: readonly { readonly generation: number; readonly at: number }[];
  /** The slot behind which the log starts after a drop. */
  readonly start: number;
}

const [ownerCount, appendCount, lastSlot] = [3, 2, 8];

const begin: State = {
  generation: 0,
  slots: Array.from({ length: lastSlot + 1 }, () => undefined),
  owners: Array.from({ length: ownerCount }, () => ({ step: "idle", generation: 0, at: 0, appended: 0 }) as const),
  late: undefined,
  acknowledged: [],
  opened: [],
  start: 0,
};

/** Visits every state. Gives how many there are, and what went wrong first. */
export function explore(variant: Variant): { readonly states: number; readonly violation: string | undefined } {
  const seen = new Set([JSON.stringify(begin)]);
  for (let frontier: readonly State[] = [begin]; frontier.length > 0;) {
    const more: State[] = [];
    for (const state of frontier) {
      for (const next of steps(state, variant)) {
        const key = JSON.stringify(next);
        if (seen.has(key)) continue;
        seen.add(key);
        const violation = violationIn(next);
        if (violation !== undefined) return { states: seen.size, violation };
        more.push(next);
      }
    }
    frontier = more;
  }
  return { states: seen.size, violation: undefined };
}

function violationIn({ acknowledged, slots, opened }: State): string | undefined {
  for (const { by, number, at, removed, dropped } of acknowledged) {
    if (dropped) continue;
    const item = slots[at];
    const isThere = item !== undefined && "by" in item && item.by === by && item.number === number;
    if (!removed && !isThere) return `append ${number} of ${by} was acknowledged at ${at} and is not there`;
    const later = opened.find((owner) => owner.generation > by && at > owner.at);
    if (later)
      return `append ${number} of ${by} was acknowledged at ${at}, behind the end that ${later.generation} saw`;
  }
  return undefined;
}

function* steps(state: State, variant: Variant): Generator<State> {
  for (const [index, owner] of state.owners.entries()) {
    yield* ownerSteps(state, index, owner, variant);
    if (owner.step === "own" && owner.generation === state.generation) yield* removals(state, index, owner, variant);
  }
  if (state.late) yield { ...store(state, state.late, variant).state, late: undefined };
}

function* ownerSteps(state: State, index: number, owner: Owner, variant: Variant): Generator<State> {
  const { step, generation, at } = owner;
  const become = (of: State, change: Partial<Owner>) => withOwner(of, index, { ...owner, ...change });
  const own = (of: State, from: number) => {
    return { ...become(of, { step: "own", at: from }), opened: [...of.opened, { generation, at: from }] };
  };
  const last = state.slots.findLastIndex((slot) => slot !== undefined);
  const lastItem = state.slots[last];
  if (step === "idle") {
    const next = state.generation + 1;
    yield become({ ...state, generation: next }, { step: "look", generation: next });
  } else if (step === "look") {
    const newest = lastItem === undefined ? 0 : "by" in lastItem ? lastItem.by : lastItem.claim;
    const end = Math.max(state.start, lastItem && "claim" in lastItem ? last - 1 : Math.max(last, 0));
    if (newest > generation && variant !== "nobody looks for a newer owner") yield become(state, { step: "gone" });
    else if (variant === "owners make no claim") yield own(state, end);
    else yield become(state, { step: "claim", at: end });
  } else if (step === "claim" && at < lastSlot) {
    for (const { state: after, isStored } of puts(state, { at: at + 1, item: { claim: generation } }, variant)) {
      const found = state.slots[at + 1];
      if (isStored)
        yield variant === "owners do not look again" ? own(after, at) : become(after, { step: "look again" });
      else yield become(after, { step: found && "claim" in found && found.claim > generation ? "gone" : "look" });
    }
  } else if (step === "look again") {
    const isOurs = last === at + 1 && lastItem && "claim" in lastItem && lastItem.claim === generation;
    yield isOurs ? own(state, at) : become(state, { step: "gone" });
  } else if (step === "own" && owner.appended < appendCount && at < lastSlot) {
    const item = { by: generation, number: owner.appended };
    for (const { state: after, isStored } of puts(state, { at: at + 1, item }, variant)) {
      if (!isStored) yield become(after, { step: "gone" });
      else {
        const acknowledged = [...after.acknowledged, { ...item, at: at + 1, removed: false, dropped: false }];
        yield become({ ...after, acknowledged }, { at: at + 1, appended: owner.appended + 1 });
      }
    }
  }
}

/** A put, which may be carried out once more. */
function* puts(state: State, put: Put, variant: Variant): Generator<{ state: State; isStored: boolean }> {
  const done = store(state, put, variant);
  yield done;
  if (!state.late) yield { ...done, state: { ...done.state, late: put } };
}

function store(state: State, { at, item }: Put, variant: Variant): { state: State; isStored: boolean } {
  const found = state.slots[at];
  const isFree = found === undefined || ("claim" in found && mayReplace(found.claim, item, variant));
  return isFree
    ? { state: { ...state, slots: state.slots.with(at, item) }, isStored: true }
    : { state, isStored: false };
}

function mayReplace(claim: number, item: Claim | Append, variant: Variant): boolean {
  if ("claim" in item) return claim < item.claim || variant === "a claim replaces any claim";
  return claim === item.by || variant === "an append replaces any claim";
}

/** Pruning the oldest append that may go, and dropping the agent. */
function* removals(state: State, index: number, owner: Owner, variant: Variant): Generator<State> {
  const mayGo = ({ at, number, removed, dropped }: Acknowledged) =>
    !removed && !dropped && at < owner.at && (number > 0 || variant === "the first append of an owner is pruned");
  const gone = state.acknowledged.findLastIndex(mayGo);
  const append = state.acknowledged[gone];
  if (append)
    yield {
      ...state,
      slots: state.slots.with(append.at, undefined),
      acknowledged: state.acknowledged.with(gone, { ...append, removed: true }),
    };
  if (state.start > 0 || owner.at === 0) return;
  const emptiesAll = variant === "a drop empties every slot";
  const kept = (slot: Slot) => (slot && ("claim" in slot || slot.number === 0) ? slot : undefined);
  const slots = state.slots.map((slot, at) => (emptiesAll ? undefined : at <= owner.at ? kept(slot) : slot));
  const end = owner.at + 1;
  if (!emptiesAll && end <= lastSlot) slots[end] ??= { claim: owner.generation };
  yield withOwner(
    {
      ...state,
      slots,
      start: owner.at,
      acknowledged: state.acknowledged.map((one) => ({ ...one, dropped: true })),
    },
    index,
    { ...owner, step: "gone" },
  );
}

function withOwner(state: State, index: number, owner: Owner): State {
  return { ...state, owners: state.owners.with(index, owner) };
}
