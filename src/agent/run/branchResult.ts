import type { NumberedMessage } from "../../checkpoint/messages/MessageHistory.ts";
import type { BranchResult } from "../feature/BranchResult.ts";
import type { RunState } from "../state/RunState.ts";

export function branchResult(output: unknown, state: RunState, start: RunState): BranchResult {
  const { settings, requirements, decisions, iteration } = state;
  const { entries } = state.history;
  const before = start.history.entries;
  const isFollowed = before.every((entry, at) => entries[at]?.number === entry.number);
  return {
    output,
    ...(isFollowed ? { added: entries.slice(before.length) } : { added: addedIn(entries, before), history: entries }),
    storage: changedIn(state.storage.values, start.storage.values),
    settings,
    decisions: decisions.slice(start.decisions.length),
    requirements,
    iterations: iteration - start.iteration,
  };
}

function addedIn(entries: readonly NumberedMessage[], before: readonly NumberedMessage[]): readonly NumberedMessage[] {
  const known = new Set(before.map(({ number }) => number));
  return entries.filter(({ number }) => !known.has(number));
}

function changedIn(now: ReadonlyMap<string, unknown>, before: ReadonlyMap<string, unknown>): BranchResult["storage"] {
  const changed = new Map<string, { readonly value: unknown } | undefined>();
  for (const [key, value] of now) if (!before.has(key) || before.get(key) !== value) changed.set(key, { value });
  for (const key of before.keys()) if (!now.has(key)) changed.set(key, undefined);
  return changed;
}
