import type {
  TimelineChanges,
  TimelineFile,
  TimelineItem,
  TimelineMessage,
  TimelineStep,
} from "../data/TimelineData.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";

export interface StateAtStep {
  readonly messages: readonly TimelineMessage[];
  readonly added: ReadonlySet<number>;
  readonly input: string;
  readonly storage: ReadonlyMap<string, string>;
  readonly settings: string;
  /** The last change of each file up to the step. */
  readonly files: ReadonlyMap<string, TimelineFile>;
}

export function stepsByKey(items: readonly TimelineItem[]): ReadonlyMap<string, TimelineStep> {
  return new Map(items.flatMap((item) => (item.kind === "step" ? [[item.key, item] as const] : [])));
}

/** Computes the state at a step. The state before the first step on the page counts as empty. */
export function stateAtStep(step: TimelineStep, steps: ReadonlyMap<string, TimelineStep>): StateAtStep {
  let messages: TimelineMessage[] = [];
  const storage = new Map<string, string>();
  const files = new Map<string, TimelineFile>();
  let input = "";
  let settings = "";
  for (const changes of changesTo(step, steps)) {
    messages = withChanges(messages, changes);
    applyStorage(storage, changes.storage);
    for (const file of changes.files) files.set(file.path, merged(files.get(file.path), file));
    input = changes.input ?? input;
    settings = changes.settings ?? settings;
  }
  const added = new Set(step.changes.messages.map(({ number }) => number));
  return { messages, added, input, storage, settings, files };
}

/** Returns the changes up to a step, without those that a later lane does not keep. */
function changesTo(step: TimelineStep, steps: ReadonlyMap<string, TimelineStep>): readonly TimelineChanges[] {
  const way: TimelineChanges[] = [];
  const seen = new Set<string>();
  let [keepsHistory, keepsState] = [true, true];
  for (let at: TimelineStep | undefined = step; at && !seen.has(at.key);) {
    const { key, lane, parent, keeps, changes }: TimelineStep = at;
    seen.add(key);
    const { messages, removed, ...state } = changes;
    way.push({
      ...(keepsState ? state : { files: state.files, storage: {} }),
      ...(keepsHistory ? { messages, removed } : { messages: [], removed: [] }),
    });
    at = steps.get(parent ?? "");
    if (at?.lane === lane) continue;
    keepsHistory &&= keeps === undefined || keeps === "history";
    keepsState &&= keeps === undefined || keeps === "state";
  }
  return way.toReversed();
}

/** Applies the changes of a step to a list of messages. Copies the list unless messages are only appended. */
function withChanges(messages: TimelineMessage[], { messages: added, removed }: TimelineChanges): TimelineMessage[] {
  if (removed.length === 0 && added.every(({ before }) => before === undefined)) {
    for (const message of added) messages.push(message);
    return messages;
  }
  const all = [...messages];
  // If the page omits the message at `before`, the inserted message is older than all messages on the page.
  let first = 0;
  for (const message of added) {
    const at = message.before === undefined ? all.length : all.findIndex(({ number }) => number === message.before);
    all.splice(at < 0 ? first++ : at, 0, message);
  }
  return all.filter(({ number }) => !removed.some(([from, to]) => from <= number && number <= to));
}

function applyStorage(storage: Map<string, string>, changes: Readonly<Record<string, string | null>>): void {
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) storage.delete(key);
    else storage.set(key, value);
  }
}

function merged(before: TimelineFile | undefined, after: TimelineFile): TimelineFile {
  if (before?.before === undefined) return after;
  return { ...after, before: before.before };
}

/** The differences between two states. Each pair contains the texts before and after, or `undefined` if missing. */
interface StateDifference {
  readonly same: number;
  readonly removed: readonly TimelineMessage[];
  readonly added: readonly TimelineMessage[];
  /** The changed values, by the name `input` or `settings`, or by storage key. */
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

/** Returns the difference of a file between two steps. A step that did not change it has the content before. */
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
