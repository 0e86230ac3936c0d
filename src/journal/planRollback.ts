import { visitAt } from "../checkpoint/state/AgentState.ts";
import type { CheckpointPoint } from "../checkpoint/state/CheckpointPoint.ts";
import type { LogProjection } from "../checkpoint/state/LogProjection.ts";
import { placesLeft, placesOnWay, placesRejoined } from "../checkpoint/lines/lineage.ts";
import { isOver, type OutcomeRecord } from "../checkpoint/records/callRecords.ts";
import type { LoggedCall } from "./loggedCalls.ts";

const noTool = (): boolean => false;

/** Where a rollback goes. */
export interface RollbackGoal {
  readonly target: CheckpointPoint;
  /**
   * The common ancestor of the head and the target. `undefined` if the target is an ancestor of the head. Otherwise the target is on
   * a branch that was left, and the rollback is a redo.
   */
  readonly base?: CheckpointPoint | undefined;
}

/** What a rollback does with each call below its target. Each list is sorted by the end of the calls, newest first. */
export interface RollbackPlan {
  /**
   * Calls to revert: they have an inverse, or had one when they were made. A call without a recorded end is made again first,
   * which gives it one.
   */
  readonly revert: readonly LoggedCall[];
  /** Calls that the open rollback to this target has already reverted. */
  readonly reverted: readonly LoggedCall[];
  /** Calls that succeeded and whose effect nothing reverts. */
  readonly irreversible: readonly LoggedCall[];
  /** Calls with neither a recorded end nor an inverse, or with an unknown outcome: they may have had their effect. */
  readonly inDoubt: readonly LoggedCall[];
  /** Calls that moved the run themselves, calls that wait for an answer, and those of the agent that this one is a fork of. */
  readonly skipped: readonly LoggedCall[];
  /** Calls on the way back to the target of a redo that an earlier rollback reverted. They are not made again. */
  readonly stayedReverted: readonly LoggedCall[];
  /** Ids of all calls below the target that are not reverted yet, those without effect included. */
  readonly closed: readonly string[];
}

/**
 * Plans a rollback: decides about every call below the target that is not reverted yet, those on abandoned lanes included. A redo
 * decides about the calls below the common ancestor that do not lead to the target.
 *
 * @param hasInverse whether the tool of a call has an inverse; its calls are reverted whatever effect the tool declares.
 * @param isReverted whether a participant reverts the calls of a tool, ended or not. Default: none does.
 */
export function planRollback(
  index: LogProjection,
  calls: readonly LoggedCall[],
  { target, base }: RollbackGoal,
  hasInverse: (call: LoggedCall) => boolean,
  isReverted: (tool: string) => boolean = noTool,
): RollbackPlan {
  const all = callsLeft(index, calls, { target, base }).toReversed();
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

/** The calls on the way back to the target of a redo that were reverted. */
function revertedBetween(
  index: LogProjection,
  calls: readonly LoggedCall[],
  target: CheckpointPoint,
  base: CheckpointPoint,
): LoggedCall[] {
  const isRejoined = placesRejoined(index, target, base);
  return calls.filter(({ call, lane, order }) => index.reverted.has(call) && isRejoined(lane, order));
}

/**
 * The calls that a rollback leaves, and those of agents that begin afresh from there: an agent does whose call had not ended there, or
 * had failed in the visit that runs again. That failure may be what the run rejects with next: then the call is tried again, on
 * another lane.
 */
function callsLeft(
  index: LogProjection,
  calls: readonly LoggedCall[],
  { target, base }: RollbackGoal,
): readonly LoggedCall[] {
  const isLeft = placesLeft(index, target, base);
  const below = new Set(calls.flatMap(({ call, lane, order }) => (isLeft(lane, order) ? [call] : [])));
  const before = withoutOutputBefore(index, calls, target);
  const beginsAfresh = (call: string): boolean => below.has(call) || before.has(call);
  const isOfAgent = (lane: number): boolean => {
    const place = index.lines.nestedLine(lane)?.place;
    if (place === undefined || place.parent >= lane) return false;
    return ("call" in place && beginsAfresh(place.call)) || isOfAgent(place.parent);
  };
  return calls.filter(({ call, lane }) => below.has(call) || isOfAgent(lane));
}

/** The calls on the way to a checkpoint, of the visit that runs again from there, that have failed or not ended until now. */
function withoutOutputBefore(
  index: LogProjection,
  calls: readonly LoggedCall[],
  target: CheckpointPoint,
): ReadonlySet<string> {
  const [base, ordinal] = visitAt(target);
  const isOnWay = placesOnWay(index, target);
  const found = calls.filter(
    ({ outcome, visit, lane, order }) =>
      (!isOver(outcome) || outcome.error) && visit[0] === base && visit[1] >= ordinal && isOnWay(lane, order),
  );
  return new Set(found.map(({ call }) => call));
}

/** Whether a call of this agent had an effect that nothing has undone, or may have had one. */
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
  if (outcome.error || outcome.unstarted || isReverted(call.tool)) return "nothing";
  if (outcome.unknown) return "in_doubt";
  return judgeEffect(call, hasInverse(call) || call.inverse);
}

function judgeEffect({ outcome, effect }: LoggedCall, hasInverse: boolean): Verdict {
  const ended = outcome !== undefined && !outcome.retry;
  if (effect === "none" && !(ended && hasInverse)) return "nothing";
  if (hasInverse) return "revert";
  return ended ? "irreversible" : "in_doubt";
}
