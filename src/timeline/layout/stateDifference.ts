import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { TimelineFile, TimelineMessage } from "../data/TimelineData.ts";
import type { StateAtStep } from "./stateAt.ts";

/**
 * The differences between two states. Each pair contains the text before and after, with `undefined` for a missing
 * side.
 */
export interface StateDifference {
  readonly same: number;
  readonly removed: readonly TimelineMessage[];
  readonly added: readonly TimelineMessage[];
  /** By name: `input`, `settings`, and the keys of the storage. */
  readonly values: ReadonlyMap<string, readonly [before: string | undefined, after: string | undefined]>;
  readonly files: readonly TimelineFile[];
}

export function stateDifference(before: StateAtStep, after: StateAtStep): StateDifference {
  const old = new Set(before.messages.map(({ number }) => number));
  const now = new Set(after.messages.map(({ number }) => number));
  const added = after.messages.filter(({ number }) => !old.has(number));
  return {
    same: after.messages.length - added.length,
    removed: before.messages.filter(({ number }) => !now.has(number)),
    added,
    values: changedValues(before, after),
    files: changedFiles(before, after),
  };
}

function changedValues(before: StateAtStep, after: StateAtStep): StateDifference["values"] {
  const pairs = new Map<string, readonly [string | undefined, string | undefined]>();
  const add = (name: string, old: string | undefined, now: string | undefined): void => {
    if (old !== now) pairs.set(name, [old, now]);
  };
  add("Input", before.input, after.input);
  add("Settings", before.settings, after.settings);
  for (const key of new Set([...before.storage.keys(), ...after.storage.keys()])) {
    add(`Storage: ${key}`, before.storage.get(key), after.storage.get(key));
  }
  return pairs;
}

function changedFiles(before: StateAtStep, after: StateAtStep): readonly TimelineFile[] {
  const paths = [...new Set([...before.files.keys(), ...after.files.keys()])];
  return paths.flatMap((path) => changeOf(path, before.files.get(path), after.files.get(path)) ?? []);
}

/** If only one side changed a file, the other side has the content before that change. */
function changeOf(path: string, old?: TimelineFile, now?: TimelineFile): TimelineFile | undefined {
  const before = old === undefined ? now?.before : old.after;
  const after = now === undefined ? old?.before : now.after;
  const note = now?.note ?? old?.note;
  if (before === after && (note === undefined || old === now)) return undefined;
  return withoutUndefined({ path, change: kindOf(before, after), before, after, note });
}

function kindOf(before: string | undefined, after: string | undefined): TimelineFile["change"] {
  if (before === undefined) return "created";
  return after === undefined ? "deleted" : "modified";
}
