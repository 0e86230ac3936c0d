import type { ToolEffect } from "../../../agent/tool/Tool.ts";
import { isMadeAgain } from "../thread/GraphRecord.ts";
import type { StoredCall } from "../thread/ThreadCalls.ts";

export interface CallAttempt {
  readonly tool: string;
  readonly effect: ToolEffect;
  readonly digest: string;
  /** The attempt number of the node in this run of the graph, from 1. */
  readonly attempt: number;
}

/**
 * The decision about a call. `perform` makes a new call. `repeat` makes a started call again under its id. `replay`
 * returns the recorded outcome. `ask` marks a call in doubt. `diverged` means that another call with an effect is
 * recorded at this position.
 */
export type CallDecision = "perform" | "repeat" | "replay" | "ask" | "diverged";

export function decideCall(recorded: StoredCall | undefined, attempt: CallAttempt): CallDecision {
  if (!recorded) return "perform";
  if (!isSameCall(recorded, attempt)) return hadEffect(recorded) ? "diverged" : "perform";
  const { end } = recorded;
  const isRepeatable = attempt.effect === "none" || attempt.effect === "idempotent";
  if (!end) return isRepeatable ? "repeat" : "ask";
  if (isMadeAgain(end)) return "perform";
  // The node failed after this call and is being retried.
  if (end.error !== undefined && attempt.attempt > 1) return "perform";
  return end.lost && isRepeatable ? "repeat" : "replay";
}

export function isInDoubt({ effect, end }: StoredCall): boolean {
  return effect !== "none" && (!end || end.unknown === true);
}

export function isSameCall(recorded: StoredCall, { tool, digest }: CallAttempt): boolean {
  return recorded.tool === tool && recorded.digest === digest;
}

export function hadEffect({ effect, end }: StoredCall): boolean {
  return effect !== "none" && end?.error === undefined && !(end && isMadeAgain(end));
}
