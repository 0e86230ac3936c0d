import type { ToolEffect } from "../../../agent/tool/Tool.ts";
import { isMadeAgain } from "../thread/GraphRecord.ts";
import type { StoredCall } from "../thread/ThreadCalls.ts";

/** A call as it is made now. */
export interface AskedCall {
  readonly tool: string;
  readonly effect: ToolEffect;
  readonly digest: string;
  /** Which run of the node it is in this run of the graph, from 1. */
  readonly attempt: number;
}

/**
 * What to do for a call. `perform`: it is made as one that begins. `repeat`: it began, and is made again under its id. `replay`:
 * how it ended is given back. `ask`: it is in doubt. `diverged`: another call was made at its place, which had an effect.
 */
export type CallDecision = "perform" | "repeat" | "replay" | "ask" | "diverged";

export function decideCall(recorded: StoredCall | undefined, asked: AskedCall): CallDecision {
  if (!recorded) return "perform";
  if (!isSameCall(recorded, asked)) return hadEffect(recorded) ? "diverged" : "perform";
  const { end } = recorded;
  const isRepeatable = asked.effect === "none" || asked.effect === "idempotent";
  if (!end) return isRepeatable ? "repeat" : "ask";
  if (isMadeAgain(end)) return "perform";
  // The node has failed since, and is tried again.
  if (end.error !== undefined && asked.attempt > 1) return "perform";
  return end.lost && isRepeatable ? "repeat" : "replay";
}

/** Whether a call is recorded that may or may not have had its effect. */
export function isInDoubt({ effect, end }: StoredCall): boolean {
  return effect !== "none" && (!end || end.unknown === true);
}

function isSameCall(recorded: StoredCall, { tool, digest }: AskedCall): boolean {
  return recorded.tool === tool && recorded.digest === digest;
}

function hadEffect({ effect, end }: StoredCall): boolean {
  return effect !== "none" && end?.error === undefined && !(end && isMadeAgain(end));
}
