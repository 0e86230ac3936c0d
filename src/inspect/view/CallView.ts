import type { LineView } from "./LineView.ts";
import type { ShownValue } from "./ShownValue.ts";

/**
 * What became of a tool call.
 *
 * - `running`: it has begun, and its owner is alive.
 * - `in_doubt`: it has begun, and nobody knows whether it had its effect.
 * - `interrupted`: it has begun and not ended, and declares that it has no effect.
 * - `waiting`: it waits for an answer or an approval.
 * - `succeeded`, `failed`: it has ended.
 * - `lost`: it succeeded, and its output could not be stored.
 * - `moved`: it moved the run itself, as by a rollback.
 * - `unknown`: it was in doubt, and settled as not known.
 * - `to_repeat`: it was settled or stopped so that it is made again.
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
 * What is known of taking it back.
 *
 * - `no_effect`: there is nothing to take back.
 * - `possible`: it has an inverse, and a rollback would run it.
 * - `irreversible`: nothing takes its effect back.
 * - `reverted`: its inverse has run.
 * - `reverting`: its inverse has begun and not ended.
 * - `failed`: its inverse failed, and the rollback is not over.
 * - `left`: it was decided to leave its effect.
 * - `with_files`: a workspace takes it back with the files that it changed.
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

/** A tool call, with its arguments and its result. */
export interface CallView {
  readonly toolCallId: string;
  readonly tool: string;
  readonly node: string;
  readonly line: LineView;
  readonly lane: number;
  readonly effect: "none" | "idempotent" | "reversible" | "irreversible";
  readonly state: CallState;
  readonly undo: CallUndo;
  /** Why its inverse failed, or why its effect was left. */
  readonly undoError?: string;
  /** Calls of a step with the same number were in progress at the same time. Counted from 0. */
  readonly group: number;
  /** Of its first record. */
  readonly position: number;
  /** Of the record of its end. Absent: it has none. */
  readonly endPosition?: number;
  readonly input: ShownValue;
  /** Only of a call that succeeded. */
  readonly output?: ShownValue;
  /** Only of a call that failed. */
  readonly error?: string;
  /** Who settled it when it was in doubt. Absent: nobody. */
  readonly settledBy?: "probe" | "handler" | "outside";
  /** The call in which it was made. Absent: the node made it. */
  readonly within?: string;
  /** The agent that made it, of which this one is a fork. Absent: this one. */
  readonly madeBy?: string;
}
