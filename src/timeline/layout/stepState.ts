import type { CallState, TimelineItem, TimelineStep } from "../data/TimelineData.ts";

/** What a step shows at a glance: the state of its calls that needs a person most. */
export type StepState = CallState | "kept" | "done";

/** The states by how much they need a person, most first. */
const urgency: readonly StepState[] = ["in_doubt", "waiting", "failed", "cut", "running"];

/** The words for each state. */
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

/** Every state that a step's calls and questions have; none has `done`. */
export function statesOf(item: TimelineItem): ReadonlySet<StepState> {
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
  const states = statesOf(step);
  return urgency.find((state) => states.has(state)) ?? "done";
}
