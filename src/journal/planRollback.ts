import type { CheckpointPoint } from "../checkpoint/records/lineRecords.ts";
import type { LogProjection } from "../checkpoint/state/LogProjection.ts";
import { placesLeft, placesRejoined } from "../checkpoint/lines/lineage.ts";
import type { OutcomeRecord } from "../checkpoint/records/callRecords.ts";
import type { LoggedCall } from "./loggedCalls.ts";

const noTool = (): boolean => false;

export interface RollbackGoal {
  readonly target: CheckpointPoint;
  /** In a redo, the common ancestor of head and target. `undefined` if the target is an ancestor of the head. */
  readonly base?: CheckpointPoint | undefined;
}

/** What a rollback does with the calls after its target. Each list starts with the newest outcome. */
export interface RollbackPlan {
  /** The calls to revert, which have or had an inverse. A call without an outcome is first repeated. */
  readonly revert: readonly LoggedCall[];
  readonly reverted: readonly LoggedCall[];
  /** Calls that succeeded and cannot be reverted. */
  readonly irreversible: readonly LoggedCall[];
  /** Calls with an unknown outcome, and calls without an inverse that did not end, or not in time. */
  readonly inDoubt: readonly LoggedCall[];
  /** Calls that moved the run, wait for an answer, or belong to the original of this fork. */
  readonly skipped: readonly LoggedCall[];
  /** In a redo, calls in the restored history that an earlier rollback reverted. The redo does not make them again. */
  readonly stayedReverted: readonly LoggedCall[];
  /** Ids of all unreverted calls after the target, including calls without an effect. */
  readonly closed: readonly string[];
}

/**
 * Plans a rollback: decides about every unreverted call after the target, including those on abandoned branches. In a
 * redo, decides about the calls after the common ancestor that are not in the history of the target. Calls with an
 * inverse are reverted, whatever effect the tool declares.
 *
 * @param isReverted Whether a participant reverts the calls of a tool.
 */
export function planRollback(
  index: LogProjection,
  calls: readonly LoggedCall[],
  { target, base }: RollbackGoal,
  hasInverse: (call: LoggedCall) => boolean,
  isReverted: (tool: string) => boolean = noTool,
): RollbackPlan {
  const isLeft = placesLeft(index, target, base);
  const all = calls.filter(({ lane, order }) => isLeft(lane, order)).toReversed();
  const below = all.filter(({ call }) => !index.reverted.has(call));
  const begun = new Set(index.rollback?.calls);
  const kind = new Map(below.map((call) => [call, judge(call, hasInverse, isReverted)]));
  const of = (wanted: string): LoggedCall[] => below.filter((call) => kind.get(call) === wanted);
  return {
    revert: of("revert"),
    reverted: all.filter(({ call }) => begun.has(call) && index.reverted.has(call)),
    irreversible: of("irreversible"),
    inDoubt: of("in_doubt"),
    skipped: of("skipped"),
    closed: below.map(({ call }) => call),
    stayedReverted: base ? revertedBetween(index, calls, target, base).toReversed() : [],
  };
}

function revertedBetween(
  index: LogProjection,
  calls: readonly LoggedCall[],
  target: CheckpointPoint,
  base: CheckpointPoint,
): LoggedCall[] {
  const isRejoined = placesRejoined(index, target, base);
  return calls.filter(({ call, lane, order }) => index.reverted.has(call) && isRejoined(lane, order));
}

/** Returns whether a call of this agent can have an effect that was not reverted. */
export function leavesEffect(call: LoggedCall): boolean {
  if (call.owner !== undefined) return false;
  return ["revert", "irreversible", "in_doubt"].includes(judge(call, noTool, noTool));
}

type Verdict = "revert" | "irreversible" | "in_doubt" | "skipped" | "nothing";

function judge(
  call: LoggedCall,
  hasInverse: (call: LoggedCall) => boolean,
  isReverted: (tool: string) => boolean,
): Verdict {
  const outcome: Partial<OutcomeRecord> = call.outcome ?? {};
  if (call.owner !== undefined) return leavesEffect({ ...call, owner: undefined }) ? "skipped" : "nothing";
  if (outcome.moved || outcome.suspended) return "skipped";
  if ((outcome.error && !outcome.late) || outcome.unstarted || isReverted(call.tool)) return "nothing";
  if (outcome.unknown) return "in_doubt";
  return judgeEffect(call, hasInverse(call) || call.inverse);
}

function judgeEffect({ outcome, effect }: LoggedCall, hasInverse: boolean): Verdict {
  const ended = outcome !== undefined && !outcome.retry && !outcome.late;
  if (effect === "none" && !(ended && hasInverse)) return "nothing";
  if (hasInverse) return "revert";
  return ended ? "irreversible" : "in_doubt";
}
