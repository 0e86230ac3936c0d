import type { TimelineItem, TimelineStep, TimelineCallState } from "../data/TimelineData.ts";

/** The filter of the list. An empty field matches all items. */
export interface TimelineFilter {
  readonly text: string;
  readonly states: ReadonlySet<StepState>;
  readonly tool: string;
}

/** Returns the items that match. The parent of a step becomes its nearest ancestor that matches. */
export function shownItems(items: readonly TimelineItem[], filter: TimelineFilter): readonly TimelineItem[] {
  const { text, states, tool } = filter;
  if (text === "" && states.size === 0 && tool === "") return items;
  const words = text.toLowerCase();
  const shown = items.filter((item) => isShown(item, words, filter));
  const keys = new Set(shown.map(({ key }) => key));
  const parents = new Map(items.flatMap((item) => (item.kind === "step" ? [[item.key, item.parent] as const] : [])));
  return shown.map((item) => (item.kind === "step" ? withShownParent(item, keys, parents) : item));
}

export function toolsIn(items: readonly TimelineItem[]): readonly string[] {
  const names = items.flatMap((item) => (item.kind === "step" ? item.calls.flat().map(({ tool }) => tool) : []));
  return [...new Set(names)].toSorted();
}

function isShown(item: TimelineItem, words: string, { states, tool }: TimelineFilter): boolean {
  if (tool !== "" && !toolsOf(item).includes(tool)) return false;
  if (states.size > 0 && ![...stepStates(item)].some((state) => states.has(state))) return false;
  return words === "" || textOf(item).includes(words);
}

function toolsOf(item: TimelineItem): readonly string[] {
  if (item.kind === "rollback") return item.calls.map(({ tool }) => tool);
  return item.kind === "step" ? item.calls.flat().map(({ tool }) => tool) : [];
}

const texts = new WeakMap<TimelineItem, string>();

/** Returns the text of an item in lower case, cached after the first search. */
function textOf(item: TimelineItem): string {
  let text = texts.get(item);
  if (text === undefined) texts.set(item, (text = wordsOf(item).join("\n").toLowerCase()));
  return text;
}

function wordsOf(item: TimelineItem): readonly string[] {
  switch (item.kind) {
    case "step":
      return wordsOfStep(item);
    case "run":
      return [item.run, item.input];
    case "rollback":
      return ["rollback", ...item.calls.flatMap(({ id, tool, reason = "" }) => [id, tool, reason])];
    case "owner":
      return ["owner"];
    case "note":
      return [item.title, item.text ?? ""];
    case "damage":
      return ["damage", item.text];
  }
}

function wordsOfStep(step: TimelineStep): readonly string[] {
  const { checkpoint, name, node, next, branch, run, summary, answers, calls, waits, changes } = step;
  const known = [checkpoint, name, node, next, branch, run, summary, changes.input, changes.settings];
  return [
    ...known.filter((text) => text !== undefined),
    ...answers.map(({ text }) => text),
    ...calls.flat().flatMap(({ id, tool, input, output = "", note = "" }) => [id, tool, input, output, note]),
    ...waits.flatMap(({ asked, answer = "", by = "" }) => [asked, answer, by]),
    ...changes.messages.flatMap(({ parts }) => parts.map(({ text }) => text)),
    ...Object.entries(changes.storage).flatMap(([key, value]) => [key, value ?? ""]),
    ...changes.files.map(({ path }) => path),
  ];
}

function withShownParent(
  step: TimelineStep,
  keys: ReadonlySet<string>,
  parents: ReadonlyMap<string, string | undefined>,
): TimelineStep {
  let parent = step.parent;
  // In a forged log, a step can be its own ancestor. The counter ends such a loop.
  for (let left = parents.size; parent !== undefined && !keys.has(parent); left--)
    parent = left > 0 ? parents.get(parent) : undefined;
  if (parent === step.parent) return step;
  const { parent: _, ...rest } = step;
  return parent === undefined ? rest : { ...rest, parent };
}

/** The state of a step in the list: the most urgent state of its calls. */
export type StepState = TimelineCallState | "kept" | "done";

/** The states that need attention, most urgent first. */
const urgency: readonly StepState[] = ["in_doubt", "waiting", "failed", "cut", "running"];

export const stateNames: Readonly<Record<StepState, string>> = {
  succeeded: "Succeeded",
  failed: "Failed",
  in_doubt: "In doubt",
  waiting: "Waiting",
  reverted: "Reverted",
  kept: "Left, effects stay",
  irreversible: "Irreversible",
  running: "Running",
  cut: "Cut off",
  done: "Done",
};

/** Returns the states of a step's calls and requests. A step without calls and requests has the state `done`. */
export function stepStates(item: TimelineItem): ReadonlySet<StepState> {
  if (item.kind === "note") return new Set(item.failed ? ["failed"] : []);
  if (item.kind === "rollback") return new Set(item.calls.map(({ result }) => stateOfResult[result]));
  if (item.kind !== "step") return new Set();
  const states = item.calls.flat().map(({ state }): StepState => state);
  if (item.waits.some(({ state }) => state === "open")) states.push("waiting");
  if (item.left !== undefined) states.push(item.left);
  if (item.open !== undefined) states.push(item.open);
  return new Set(states);
}

export const stateOfResult = {
  reverted: "reverted",
  failed: "failed",
  irreversible: "irreversible",
  skipped: "irreversible",
  pending: "running",
} as const;

export function stepState(step: TimelineStep): StepState {
  if (step.left !== undefined) return step.left;
  const states = stepStates(step);
  return urgency.find((state) => states.has(state)) ?? "done";
}
