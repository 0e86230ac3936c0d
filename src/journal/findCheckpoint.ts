import { findPoint } from "../checkpoint/moment/linesAt.ts";
import { linePath } from "../checkpoint/data/linePath.ts";
import type { CheckpointPoint } from "../checkpoint/records/lineRecords.ts";
import type { LogProjection } from "../checkpoint/state/LogProjection.ts";
import { placesOnWay } from "../checkpoint/lines/lineage.ts";
import { CheckpointNotFoundError, NotAnAncestorError, type RedoObstacle } from "../errors/checkpointErrors.ts";
import type { AgentLog } from "../storage/AgentLog.ts";
import { visitAt } from "../checkpoint/state/AgentState.ts";
import { isSameVisit, type Visit } from "../checkpoint/records/Visit.ts";
import { reachesLine } from "../checkpoint/state/foldTo.ts";
import { type LoggedCall, loggedCalls, read } from "./loggedCalls.ts";
import type { RollbackGoal } from "./planRollback.ts";

type IndexedLog = Pick<AgentLog, "agentId" | "index">;

/** Returns a checkpoint by its id or name. Defaults to the latest checkpoint. @throws CheckpointNotFoundError */
export function findCheckpoint(
  { agentId, index }: IndexedLog,
  checkpointId: string | undefined,
  asked: "id" | "in_node" = "id",
): CheckpointPoint {
  const point = checkpointId === undefined ? index.latest : findPoint(index, checkpointId);
  if (point) return point;
  const ids = [...index.checkpoints.values()].map(({ id }) => id);
  throw new CheckpointNotFoundError(agentId, checkpointId, ids, asked);
}

/** A running node, and the lane of its run, branch or sub-agent. */
interface RunningNode {
  readonly lane: number;
  readonly visit: Visit;
}

/**
 * Returns a checkpoint to which a run, branch or sub-agent can roll back. Defaults to the head, or to the checkpoint
 * before the node if a trigger made the head within the node. During a rollback, its target counts as the head. `from`
 * selects a branch or sub-agent. Defaults to any that is open.
 *
 * @throws NotAnAncestorError, CheckpointNotFoundError
 */
export function findRollbackTarget(
  log: IndexedLog,
  checkpointId: string | undefined,
  from?: RunningNode,
): CheckpointPoint {
  const { target, isAncestor } = findTarget(log, checkpointId, from);
  if (isAncestor(target)) return target;
  throw refusal(log, target, isAncestor, "outside");
}

/**
 * Returns the target of a rollback from outside a run. It is an ancestor as in {@link findRollbackTarget}, or in a redo
 * a checkpoint of the run on an abandoned branch.
 *
 * @throws NotAnAncestorError, CheckpointNotFoundError
 */
export function findRollbackGoal(log: IndexedLog, checkpointId: string | undefined): RollbackGoal {
  const { index } = log;
  const { target, isAncestor } = findTarget(log, checkpointId, undefined);
  const known = baseOfRedo(index, target);
  if (known) return { target, base: known };
  if (isAncestor(target)) return { target };
  if (index.lines.nestedLine(target.record.lane)) throw refusal(log, target, isAncestor, "nested");
  if (index.rollback) throw refusal(log, target, isAncestor, "open");
  const base = baseOf(index, target, isAncestor);
  if (!base) throw refusal(log, target, isAncestor, "unrelated");
  return { target, base };
}

/**
 * Returns whether a log that was read from its newest snapshot is enough for a rollback from outside a run. The target
 * must be an ancestor of the head, no rollback may be open, and the log must contain all calls after the target.
 *
 * @param checkpointId Defaults to the head.
 */
export function isEnoughForRollback(log: AgentLog, checkpointId: string | undefined): boolean {
  const { index, blobs } = log;
  const { base, lines, origins, redoneFrom } = index;
  if (!base || base.isPassed || index.rollback || redoneFrom.size > 0 || origins.length > 0) return false;
  const goal = read(() => findRollbackGoal(log, checkpointId)).value as RollbackGoal | undefined;
  if (!goal || goal.base || lines.nestedLine(goal.target.record.lane)) return false;
  const { order, runId, record } = goal.target;
  if (order < base.order || !index.runRecords.has(runId) || !reachesLine(index, record.lane, order)) return false;
  const isKnown = ({ tool, input }: LoggedCall) => tool !== "" && read(input).unreadable === undefined;
  return loggedCalls(index, blobs).every(isKnown);
}

/** Returns the common ancestor that a redo to this target has recorded. A repeated redo needs the same ancestor. */
function baseOfRedo(index: LogProjection, { version }: CheckpointPoint): CheckpointPoint | undefined {
  const { target, base } = index.rollback ?? index.lastRollback ?? {};
  return target === version && base !== undefined ? index.checkpoints.get(base) : undefined;
}

function baseOf(
  { checkpoints }: LogProjection,
  target: CheckpointPoint,
  isAncestor: (point: CheckpointPoint) => boolean,
): CheckpointPoint | undefined {
  let at = parentOf(checkpoints, target);
  while (at && !isAncestor(at)) at = parentOf(checkpoints, at);
  return at;
}

/** A valid checkpoint has a higher version than its parent. In a forged log, this check prevents an endless loop. */
function parentOf(
  checkpoints: LogProjection["checkpoints"],
  { version, parent = version }: CheckpointPoint,
): CheckpointPoint | undefined {
  return parent < version ? checkpoints.get(parent) : undefined;
}

function findTarget(
  log: IndexedLog,
  checkpointId: string | undefined,
  from: RunningNode | undefined,
): { readonly target: CheckpointPoint; readonly isAncestor: (point: CheckpointPoint) => boolean } {
  const { index } = log;
  const lane = from?.lane;
  const heads = headsOf(index, lane);
  const [head] = heads;
  const asked = from ? "in_node" : "id";
  // A repeated rollback must have the target of its first attempt.
  const isRepeated = index.rollback !== undefined && !from;
  const latest = head && !isRepeated ? beforeNode(index, head, from?.visit ?? visitAt(head)) : head;
  const target = (checkpointId === undefined && latest) || findCheckpoint(log, checkpointId, asked);
  const ways = heads.map((each) => placesOnWay(index, each));
  // A branch without a checkpoint can roll back to the checkpoint from which it started.
  if (!head && lane !== undefined) ways.push(placesOnWay(index, { version: 0, order: Infinity, record: { lane } }));
  const isAncestor = ({ record, order }: CheckpointPoint) =>
    !record.ended && ways.some((isOnWay) => isOnWay(record.lane, order));
  return { target, isAncestor };
}

/**
 * Returns the newest checkpoint that no trigger made within the given execution of a node. A rollback to a checkpoint
 * within the node would replay the earlier calls of the node, so that the node would request the same rollback again.
 */
function beforeNode({ checkpoints }: LogProjection, head: CheckpointPoint, visit: Visit): CheckpointPoint {
  let at: CheckpointPoint | undefined = head;
  while (at && isMadeByTrigger(at) && isSameVisit(at.record.visit, visit)) at = parentOf(checkpoints, at);
  return at ?? head;
}

function isMadeByTrigger({ record: { trigger } }: CheckpointPoint): boolean {
  return trigger !== undefined && trigger !== "asked_for";
}

function refusal(
  { agentId, index }: IndexedLog,
  target: CheckpointPoint,
  isAncestor: (point: CheckpointPoint) => boolean,
  obstacle: RedoObstacle,
): NotAnAncestorError {
  const ids = [...index.checkpoints.values()].filter(isAncestor).map(({ id }) => id);
  const { lane } = target.record;
  const isNested = index.lines.nestedLine(lane) !== undefined;
  const openTo = index.checkpoints.get(index.rollback?.target ?? -1)?.id;
  const why = isNested ? "nested" : obstacle;
  return new NotAnAncestorError(agentId, target.id, ids, {
    obstacle: why,
    joinedBranch: joinedBranch(index, lane),
    openTo,
  });
}

function joinedBranch(index: LogProjection, lane: number): string | undefined {
  const place = index.lines.nestedLine(lane)?.place;
  if (!place || !("fork" in place)) return undefined;
  const isJoined = [...index.checkpoints.values()].some(({ record }) => record.joined === place.fork);
  return isJoined ? linePath(index, lane).branch : undefined;
}

function headsOf(index: LogProjection, lane: number | undefined): readonly CheckpointPoint[] {
  // During a run, another branch may be rolling back. This branch rolls back after it.
  if (index.rollback && lane === undefined) return [index.checkpoints.get(index.rollback.target) ?? []].flat();
  const lanes = lane === undefined ? index.lines.openLanes.filter((each) => !index.isEndedAgent(each)) : [lane];
  const heads = lanes.flatMap((each) => index.latestOf(each) ?? []);
  return heads.length > 0 || lane !== undefined ? heads : [index.latest ?? []].flat();
}

/** Returns the first checkpoint of the last run in the history of the head, or of an open rollback's target. */
export function firstOfRun(index: LogProjection): CheckpointPoint | undefined {
  let first: CheckpointPoint | undefined;
  const { rollback, checkpoints, latest } = index;
  let at = rollback ? checkpoints.get(rollback.target) : latest;
  while (at && at.runId === index.run?.run) {
    first = at;
    at = at.parent === undefined ? undefined : index.checkpoints.get(at.parent);
  }
  return first;
}
