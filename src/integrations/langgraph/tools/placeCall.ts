import type { ToolEffect } from "../../../agent/tool/Tool.ts";
import { decideRecorded } from "../../../agent/tool/recordedCall.ts";
import { isMadeAgain } from "../thread/GraphRecord.ts";
import { isFinished, type StoredCall } from "../thread/ThreadState.ts";
import type { CallPlace } from "./TaskPlace.ts";

interface CallAttempt {
  readonly tool: string;
  readonly effect: ToolEffect;
  readonly digest: string;
  /** The number of the execution of the node in this run of the graph, from 1. */
  readonly attempt: number;
}

/**
 * What happens to a call. `perform` makes a new call. `repeat` makes a started call again with its id. `replay` returns
 * the recorded outcome. `ask` means that the call is in doubt. `diverged` means that a different call with an effect is
 * recorded.
 */
export type CallDecision = "perform" | "repeat" | "replay" | "ask" | "diverged";

function decideCall(recorded: StoredCall | undefined, attempt: CallAttempt): CallDecision {
  if (!recorded) return "perform";
  if (!isSameCall(recorded, attempt)) return isBinding(recorded) ? "diverged" : "perform";
  const { end } = recorded;
  if (end && isMadeAgain(end)) return "perform";
  // The node failed after this call, and now runs again.
  if (end?.error !== undefined && attempt.attempt > 1) return "perform";
  return decideRecorded(end, attempt.effect);
}

export function isInDoubt({ effect, end }: StoredCall): boolean {
  return effect !== "none" && (!end || end.unknown === true);
}

function isSameCall(recorded: StoredCall, { tool, digest }: CallAttempt): boolean {
  return recorded.tool === tool && recorded.digest === digest;
}

/** Returns whether another call must not replace this call, because its task would then have two effects. */
function isBinding(call: StoredCall): boolean {
  const { effect, end } = call;
  return effect !== "none" && end?.error === undefined && !(end && isMadeAgain(end)) && !isFinished(call);
}

interface PlacedCall {
  readonly at: string;
  /** The record of this call, or of the different call at its position. */
  readonly recorded: StoredCall | undefined;
  readonly decision: CallDecision;
}

/**
 * Finds the record of a call. A repeated model request gives its calls new ids, so the first recorded call with an
 * equal tool and input counts as the same call, unless the execution has already made it. If another recorded call of
 * the tool is left, a new call of the tool is refused, because it possibly replaces that call.
 *
 * @param calls the recorded calls of the task
 */
export function placeCall(
  calls: readonly StoredCall[],
  { attempt, within, at }: CallPlace,
  call: CallAttempt,
): PlacedCall {
  const { used } = attempt;
  const left = calls.filter((each) => each.at.startsWith(within) && !used.has(each.at));
  const recorded = left.find((each) => each.at === at) ?? left.find((each) => isSameCall(each, call));
  if (recorded) {
    used.add(recorded.at);
    return { at: recorded.at, recorded, decision: decideCall(recorded, call) };
  }
  const replaced = left.find((each) => each.tool === call.tool && isBinding(each));
  if (replaced) return { at, recorded: replaced, decision: "diverged" };
  const free = freePlace(at, used);
  used.add(free);
  return { at: free, recorded: undefined, decision: "perform" };
}

/** Returns an unused position. A position is taken if an equal call with another id returns its record. */
function freePlace(at: string, used: ReadonlySet<string>): string {
  let free = at;
  while (used.has(free)) free += "+";
  return free;
}
