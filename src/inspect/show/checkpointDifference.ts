import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { ChangedValue, CheckpointDifference, MessageView } from "../view/CheckpointContent.ts";
import { stateAt } from "./checkpointContent.ts";
import { checkpointShower } from "./checkpointView.ts";
import { filesBetween } from "./fileChanges.ts";
import type { Shown } from "./Source.ts";

export function checkpointDifference(shown: Shown, from: CheckpointPoint, to: CheckpointPoint): CheckpointDifference {
  const { index } = shown;
  const before = stateAt(index, from);
  const after = stateAt(index, to);
  const view = checkpointShower(index.log);
  return withoutUndefined({
    from: view(from),
    to: view(to),
    messages: messagesOf(shown, before, after),
    input: changedValue(shown, { value: from.record.input }, { value: to.record.input }),
    storage: changedFields(shown, before.storage, after.storage),
    settings: changedFields(shown, settingsOf(before), settingsOf(after)),
    files: filesBetween(shown, from, to),
  });
}

/** Compares messages by number, which is the same in all checkpoints. */
function messagesOf({ show }: Shown, before: AgentState, after: AgentState): CheckpointDifference["messages"] {
  const numbers = (state: AgentState) => new Set(state.history.map(({ number }) => number));
  const without = (state: AgentState, others: ReadonlySet<number>): readonly MessageView[] =>
    state.history
      .filter(({ number }) => !others.has(number))
      .map(({ number, message }) => ({ number, message: show(message) }));
  const added = without(after, numbers(before));
  return { kept: after.history.length - added.length, removed: without(before, numbers(after)), added };
}

function settingsOf({ settings }: AgentState): ReadonlyMap<string, unknown> {
  const { model, parameters, tools } = settings ?? {};
  return new Map(Object.entries(withoutUndefined({ model, parameters, tools })));
}

function changedFields(
  shown: Shown,
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): Readonly<Record<string, ChangedValue>> {
  const of = (fields: ReadonlyMap<string, unknown>, key: string) =>
    fields.has(key) ? { value: fields.get(key) } : undefined;
  const keys = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  const changed = keys.map((key) => [key, changedValue(shown, of(before, key), of(after, key))] as const);
  return Object.fromEntries(
    changed.flatMap(([key, change]): [string, ChangedValue][] => (change ? [[key, change]] : [])),
  );
}

type Present = { readonly value: unknown } | undefined;

/** Returns `undefined` for equal values. */
function changedValue(shown: Shown, before: Present, after: Present): ChangedValue | undefined {
  const { show } = shown;
  const change = { ...(before && { before: show(before.value) }), ...(after && { after: show(after.value) }) };
  return before && after && isSame(shown, before.value, after.value) ? undefined : change;
}

/** Treats unreadable values as different from all others. */
function isSame({ values }: Shown, a: unknown, b: unknown): boolean {
  if (a === b) return true;
  try {
    return isSameValue(values.decoded(a), values.decoded(b));
  } catch {
    return false;
  }
}
