import type { EndFacts } from "../run/endFacts.ts";

/** A checkpoint that is about to be saved. */
export interface CheckpointPlan {
  readonly node: string;
  readonly input: unknown;
  readonly id?: string;
  readonly version?: number;
  readonly inputType?: string;
  /** Why it is made, where that does not follow from the rest. */
  readonly trigger?: string;
  readonly unresolved?: true;
  readonly status?: "completed";
  readonly end?: EndFacts;
  /** True where one visit has ended and another begins: a snapshot may stand here. */
  readonly boundary?: true;
}

/** What a refusal of its input calls it. */
export function subjectOf({ node, unresolved, status }: CheckpointPlan): string {
  if (status) return "the output of the run";
  return `the ${unresolved ? "output" : "input"} of node ${JSON.stringify(node)}`;
}
