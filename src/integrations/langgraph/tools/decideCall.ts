import type { ToolEffect } from "../../../agent/tool/Tool.ts";
import { decideRecorded } from "../../../agent/tool/recordedCall.ts";
import { isMadeAgain } from "../thread/GraphRecord.ts";
import type { StoredCall } from "../thread/ThreadState.ts";
import type { CallPlace } from "./TaskPlace.ts";

interface CallAttempt {
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

function decideCall(recorded: StoredCall | undefined, attempt: CallAttempt): CallDecision {
  if (!recorded) return "perform";
  if (!isSameCall(recorded, attempt)) return hadEffect(recorded) ? "diverged" : "perform";
  const { end } = recorded;
  if (end && isMadeAgain(end)) return "perform";
  // The node failed after this call and is being retried.
  if (end?.error !== undefined && attempt.attempt > 1) return "perform";
  return decideRecorded(end, attempt.effect);
}

export function isInDoubt({ effect, end }: StoredCall): boolean {
  return effect !== "none" && (!end || end.unknown === true);
}

function isSameCall(recorded: StoredCall, { tool, digest }: CallAttempt): boolean {
  return recorded.tool === tool && recorded.digest === digest;
}

function hadEffect({ effect, end }: StoredCall): boolean {
  return effect !== "none" && end?.error === undefined && !(end && isMadeAgain(end));
}

interface PlacedCall {
  readonly at: string;
  /** The record of this call, or the record that the call contradicts. */
  readonly recorded: StoredCall | undefined;
  readonly decision: CallDecision;
}

/**
 * Finds the record of a call. If a model is asked again, its calls get new ids. So the first equal recorded call that
 * this attempt has not made yet counts as the same call. While this attempt has not made some recorded call of the
 * tool, a new call of the tool is refused, because it may be meant to replace the recorded call.
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
  const replaced = left.find((each) => each.tool === call.tool && hadEffect(each));
  if (replaced) return { at, recorded: replaced, decision: "diverged" };
  const free = freePlace(at, used);
  used.add(free);
  return { at: free, recorded: undefined, decision: "perform" };
}

/**
 * Returns a free position. A position is in use if an equal call with another id has taken the record at this position.
 */
function freePlace(at: string, used: ReadonlySet<string>): string {
  let free = at;
  while (used.has(free)) free += "+";
  return free;
}
