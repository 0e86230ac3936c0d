import type { TimelineCallState, TimelineItem, TimelineStep } from "../data/TimelineData.ts";

/** The state that a step displays: the most urgent state of its calls. */
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

/** Returns the states of a step's calls and requests. A step without them has the state `done`. */
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

const stateOfResult = {
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
