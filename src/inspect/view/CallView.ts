import type { ShownValue, LineView } from "./viewParts.ts";

/**
 * The state of a tool call.
 *
 * - `running`: the call started, and its owner is alive.
 * - `in_doubt`: the call started and possibly took effect.
 * - `interrupted`: a call of a tool without effects has no recorded outcome.
 * - `waiting`: the call waits for an answer or an approval.
 * - `succeeded`, `failed`: the call finished.
 * - `lost`: the call succeeded, but its output could not be stored.
 * - `moved`: the call moved the run, for example with a rollback.
 * - `unknown`: the call was in doubt, and its outcome was recorded as unknown.
 * - `to_repeat`: the call will be repeated, because it was settled that way or was stopped.
 */
export type CallState =
  | "running"
  | "in_doubt"
  | "interrupted"
  | "waiting"
  | "succeeded"
  | "failed"
  | "lost"
  | "moved"
  | "unknown"
  | "to_repeat";

/**
 * Whether the effect of a call can be reverted.
 *
 * - `no_effect`: the call has no effect to revert.
 * - `possible`: the call has an inverse that a rollback would run.
 * - `irreversible`: the effect cannot be reverted.
 * - `reverted`: the inverse ran.
 * - `reverting`: the inverse started without a recorded outcome.
 * - `failed`: the inverse failed in an unfinished rollback.
 * - `left`: a decision kept the effect.
 * - `with_files`: a workspace reverts the effect together with the changed files.
 */
export type CallUndo =
  | "no_effect"
  | "possible"
  | "irreversible"
  | "reverted"
  | "reverting"
  | "failed"
  | "left"
  | "with_files";

/** A tool call with its input and its result. */
export interface CallView {
  readonly toolCallId: string;
  readonly tool: string;
  readonly node: string;
  readonly line: LineView;
  readonly lane: number;
  readonly effect: "none" | "idempotent" | "reversible" | "irreversible";
  readonly state: CallState;
  readonly undo: CallUndo;
  /** The reason why the inverse failed or the effect was kept. */
  readonly undoError?: string;
  /** Calls of a step with the same number ran concurrently. Counted from 0. */
  readonly group: number;
  /** The position of the first record. */
  readonly position: number;
  /** The position of the outcome. Omitted without an outcome. */
  readonly endPosition?: number;
  readonly input: ShownValue;
  /** The output of a successful call. */
  readonly output?: ShownValue;
  /** The error of a failed call. */
  readonly error?: string;
  /** How the call in doubt was settled. Omitted if it was not. */
  readonly settledBy?: "probe" | "handler" | "outside";
  /** The id of the outer call. Omitted if the node made the call. */
  readonly within?: string;
  /** For a fork, the original agent that made the call. Omitted if this agent made the call. */
  readonly madeBy?: string;
}
