import type { LineRequest } from "../lines/LineRequests.ts";
import type { AgentState } from "./AgentState.ts";
import type { LogProjection } from "./LogProjection.ts";

/**
 * The request of an open line with this id; `undefined`: none has made it.
 *
 * @param state the head of the main line.
 */
export function requestOf(index: LogProjection, state: AgentState, id: string): LineRequest | undefined {
  const own = state.requests.get(id);
  if (own) return { ...own, lane: state.lane };
  const nested = index.requests.get(id);
  return nested && nested.lane !== state.lane && index.lines.isOpen(nested.lane) ? nested : undefined;
}

/** Whether a request of an open line waits for an answer. */
export function isOpenRequest(index: LogProjection, { record, reply }: LineRequest): boolean {
  return reply === undefined && listedRequests(index).includes(record.request);
}

/**
 * The unanswered requests of an agent: those that it waits for, and those that some of its lines wait for while others run.
 *
 * @param state the head of the main line.
 */
export function openRequests(index: LogProjection, state: AgentState): readonly LineRequest[] {
  return listedRequests(index).flatMap((id) => {
    const request = requestOf(index, state, id);
    // Of very many requests the status may list some that were answered since.
    return request && !request.reply ? [request] : [];
  });
}

/** Those that the status lists, and those that lines have made since: of very many, it does not list each at once. */
function listedRequests({ statusState, requests }: LogProjection): readonly string[] {
  const { status, record } = statusState.current ?? {};
  const listed = record?.requests ?? [];
  if (status === "waiting") return listed;
  return status === "in_progress" ? [...new Set([...listed, ...requests.unlisted])] : [];
}

/** Whether an agent still waits for everything it waited for when it last ran. */
export function waits({ statusState }: LogProjection): boolean {
  const { status, record } = statusState.current ?? {};
  return status === "waiting" && (record?.requests ?? []).length > 0 && !record?.answered;
}
