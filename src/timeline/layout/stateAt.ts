import type {
  TimelineChanges,
  TimelineFile,
  TimelineItem,
  TimelineMessage,
  TimelineStep,
} from "../data/TimelineData.ts";

export interface StateAtStep {
  readonly messages: readonly TimelineMessage[];
  readonly added: ReadonlySet<number>;
  readonly input: string;
  readonly storage: ReadonlyMap<string, string>;
  readonly settings: string;
  /** The newest change of each file up to the step. */
  readonly files: ReadonlyMap<string, TimelineFile>;
}

export function stepsByKey(items: readonly TimelineItem[]): ReadonlyMap<string, TimelineStep> {
  return new Map(items.flatMap((item) => (item.kind === "step" ? [[item.key, item] as const] : [])));
}

/** Computes the state at a step. A parent that is not on the page counts as empty. */
export function stateAt(step: TimelineStep, steps: ReadonlyMap<string, TimelineStep>): StateAtStep {
  let messages: TimelineMessage[] = [];
  const storage = new Map<string, string>();
  const files = new Map<string, TimelineFile>();
  let input = "";
  let settings = "";
  for (const { changes } of wayTo(step, steps)) {
    messages = withChanges(messages, changes);
    if (changes.storageAnew) storage.clear();
    applyStorage(storage, changes.storage);
    for (const file of changes.files) files.set(file.path, merged(files.get(file.path), file));
    input = changes.input ?? input;
    settings = changes.settings ?? settings;
  }
  const added = new Set(step.changes.messages.map(({ number }) => number));
  return { messages, added, input, storage, settings, files };
}

function wayTo(step: TimelineStep, steps: ReadonlyMap<string, TimelineStep>): readonly TimelineStep[] {
  const way: TimelineStep[] = [];
  const seen = new Set<string>();
  for (let at: TimelineStep | undefined = step; at && !seen.has(at.key); at = steps.get(at.parent ?? "")) {
    seen.add(at.key);
    way.push(at);
  }
  return way.toReversed();
}

/** Appends to the same list in the usual case, and copies it only for removals and insertions. */
function withChanges(messages: TimelineMessage[], { messages: added, removed }: TimelineChanges): TimelineMessage[] {
  const isGone = ({ number }: TimelineMessage): boolean =>
    removed.some(([first, last]) => first <= number && number <= last);
  const places = new Map<number, TimelineMessage[]>();
  const end: TimelineMessage[] = [];
  for (const message of added) {
    if (message.before === undefined) end.push(message);
    else places.set(message.before, [...(places.get(message.before) ?? []), message]);
  }
  if (places.size === 0 && removed.length === 0) {
    for (const message of end) messages.push(message);
    return messages;
  }
  const kept = messages.flatMap((message) => [
    ...(places.get(message.number) ?? []),
    ...(isGone(message) ? [] : [message]),
  ]);
  return [...kept, ...end];
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
