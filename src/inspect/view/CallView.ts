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
 * - `to_repeat`: the call will be repeated, because a decision said so or the call was stopped.
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
  /** Calls of one step that ran concurrently have the same number, from 0. */
  readonly group: number;
  /** The position in the log of the first record of the call. */
  readonly position: number;
  /** The position in the log of the outcome. Omitted without an outcome. */
  readonly endPosition?: number;
  readonly input: ShownValue;
  readonly output?: ShownValue;
  readonly error?: string;
  /** Who settled a call in doubt: the probe, the handler or a person outside the run. Omitted if not settled. */
  readonly settledBy?: "probe" | "handler" | "outside";
  /** The id of the tool call that made this call. Omitted if the node made the call. */
  readonly within?: string;
  /** The original agent that made the call, if this agent is a fork of it. Omitted if this agent made the call. */
  readonly madeBy?: string;
}
