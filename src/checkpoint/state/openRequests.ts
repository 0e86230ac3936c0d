import { openLaneOf } from "../lines/lineage.ts";
import type { LineRequest } from "../lines/LineRequests.ts";
import { type AgentState, nextVisitOf } from "./AgentState.ts";
import type { LogProjection } from "./LogProjection.ts";

/** Returns an open request by its id, or `undefined`. @param state - the state at the head. */
export function requestOf(index: LogProjection, state: AgentState, id: string): LineRequest | undefined {
  const own = state.requests.get(id);
  if (own) return { ...own, lane: state.lane };
  const nested = index.requests.get(id);
  return nested && nested.lane !== state.lane && index.lines.isOpen(nested.lane) ? nested : undefined;
}

export function isOpenRequest(index: LogProjection, state: AgentState, request: LineRequest): boolean {
  const { status, record } = index.statusState.current ?? {};
  if (request.reply || isGoingBack(index, request.lane)) return false;
  if (status === "waiting") return record?.requests?.includes(request.record.request) === true;
  return (status === "in_progress" || status === "paused") && isAskedNow(index, state, request);
}

/** Returns the unanswered requests, even of a running or paused agent. @param state - the state at the head. */
export function openRequests(index: LogProjection, state: AgentState): readonly LineRequest[] {
  const { status, record } = index.statusState.current ?? {};
  const find = (id: string): LineRequest | undefined => requestOf(index, state, id);
  const isWaiting = status === "waiting";
  const known = new Set(isWaiting ? record?.requests : [...state.requests.keys(), ...index.requests.unanswered]);
  return [...known].flatMap((id) => find(id) ?? []).filter((request) => isOpenRequest(index, state, request));
}

function isGoingBack(index: LogProjection, lane: number): boolean {
  const { rollback, checkpoints, lines } = index;
  if (!rollback) return false;
  const target = checkpoints.get(rollback.target)?.record.lane;
  const line = target === undefined ? undefined : lines.nestedLine(openLaneOf(index, target) ?? target);
  if (!line) return true;
  return [...lines.around(lane)].includes(line);
}

/** Returns whether the current node execution made the request. After a rollback, nodes make requests with new ids. */
function isAskedNow(index: LogProjection, state: AgentState, { record, lane }: LineRequest): boolean {
  const place = lane === state.lane ? state : { lane, checkpoint: index.latestOf(lane) };
  return record.lane === lane && record.visit[0] === nextVisitOf(place)[0];
}

/** Returns whether the agent waits for answers and none of its requests has an answer yet. */
export function waits({ statusState }: LogProjection): boolean {
  const { status, record } = statusState.current ?? {};
  return status === "waiting" && (record?.requests ?? []).length > 0 && !record?.answered;
}
