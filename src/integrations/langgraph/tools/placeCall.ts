import type { StoredCall } from "../thread/ThreadCalls.ts";
import { type CallAttempt, type CallDecision, decideCall, hadEffect, isSameCall } from "./decideCall.ts";
import type { CallPlace } from "./TaskPlace.ts";

interface PlacedCall {
  readonly at: string;
  /** The record of this call, or the record that the call contradicts. */
  readonly recorded: StoredCall | undefined;
  readonly decision: CallDecision;
}

/**
 * Finds the record of a call. A model that is asked again gives its calls new ids, so the first equal call that the
 * attempt has not made yet counts as the same call. A new call is refused while the attempt has not made a recorded
 * call of the tool, because it may replace that call.
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

/** The position is in use if an equal call with another id took its record. */
function freePlace(at: string, used: ReadonlySet<string>): string {
  let free = at;
  while (used.has(free)) free += "+";
  return free;
}
