import type { CheckpointPoint, LogProjection } from "../checkpoint/state/LogProjection.ts";
import { isBelow } from "../checkpoint/state/lineage.ts";
import type { LoggedCall } from "./loggedCalls.ts";

/** What a rollback does with each call below its target. Every list is newest first, by the recorded end of the calls. */
export interface RollbackPlan {
  /**
   * Have an inverse, or had one when they were made: it is run. Those without a recorded end are among them: an inverse is
   * run only after they are made again, which gives them one.
   */
  readonly revert: readonly LoggedCall[];
  /** Taken back already, by the rollback to this target that is under way. */
  readonly reverted: readonly LoggedCall[];
  /** Succeeded with an effect that nothing takes back. */
  readonly irreversible: readonly LoggedCall[];
  /** Began and have no recorded end nor an inverse, or were settled as not known: their effects may stand. */
  readonly inDoubt: readonly LoggedCall[];
  /** Calls that asked for a move themselves, and calls that wait for an answer. */
  readonly skipped: readonly LoggedCall[];
  /** All of them and those without effect: on no line any more. */
  readonly closed: readonly string[];
}

/**
 * Decides a rollback: every call below the target in the tree that is not yet reverted, abandoned lines included.
 *
 * @param hasInverse whether a tool has an inverse; calls of such tools are reverted whatever effect they declare.
 * @param isTakenBack whether a participant takes back what the calls of a tool do, ended or not. Default: none does.
 */
export function planRollback(
  index: LogProjection,
  calls: readonly LoggedCall[],
  target: CheckpointPoint,
  hasInverse: (tool: string) => boolean,
  isTakenBack: (tool: string) => boolean = () => false,
): RollbackPlan {
  const all = calls.filter((call) => isBelow(index, call.lane, call.order, target)).reverse();
  const below = all.filter(({ call }) => !index.reverted.has(call));
  const begun = new Set(index.rollback?.calls);
  const kind = new Map(below.map((call) => [call, judge(call, hasInverse, isTakenBack)]));
  const of = (wanted: string): LoggedCall[] => below.filter((call) => kind.get(call) === wanted);
  return {
    revert: of("revert"),
    reverted: all.filter(({ call }) => begun.has(call) && index.reverted.has(call)),
    irreversible: of("irreversible"),
    inDoubt: of("in_doubt"),
    skipped: of("skipped"),
    closed: below.map(({ call }) => call),
  };
}

/** Whether a call had an effect that stands, or may have had one. */
export function leavesEffect(call: LoggedCall): boolean {
  return ["revert", "irreversible", "in_doubt"].includes(judge(call, () => false));
}

function judge(
  call: LoggedCall,
  hasInverse: (tool: string) => boolean,
  isTakenBack: (tool: string) => boolean = () => false,
): "revert" | "irreversible" | "in_doubt" | "skipped" | "nothing" {
  const { outcome } = call;
  if (outcome?.moved || outcome?.suspended) return "skipped";
  if (outcome?.error || outcome?.unstarted || isTakenBack(call.tool)) return "nothing";
  if (outcome?.unknown) return "in_doubt";
  const ended = outcome !== undefined && !outcome.retry;
  if (!ended && call.effect === "none") return "nothing";
  if (hasInverse(call.tool) || call.inverse) return "revert";
  if (!ended) return "in_doubt";
  return call.effect === "none" ? "nothing" : "irreversible";
}
