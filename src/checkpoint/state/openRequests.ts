import type { RequestRecord } from "../records/requestRecords.ts";
import type { AgentState, RecordedRequest } from "./AgentState.ts";
import type { LogProjection } from "./LogProjection.ts";

/** A request, and the lane on which its line goes on. */
export interface LineRequest extends RecordedRequest {
  readonly lane: number;
}

/** The requests of all open lines, by id. @param state the head of the main line. */
export function requestsOf(index: LogProjection, state: AgentState): ReadonlyMap<string, LineRequest> {
  const requests = new Map<string, LineRequest>();
  for (const [id, request] of state.requests) requests.set(id, { ...request, lane: state.lane });
  for (const lane of index.lines.openLanes) if (lane !== state.lane) addFrom(index, lane, requests);
  return requests;
}

function addFrom({ laneRecords }: LogProjection, lane: number, into: Map<string, LineRequest>): void {
  for (const { record, order } of laneRecords.get(lane) ?? []) {
    if (record.kind === "request") into.set(record.request, { record, lane });
    const known = record.kind === "reply" && into.get(record.request);
    if (known) into.set(known.record.request, { ...known, reply: record, repliedAt: order });
  }
}

/** The unanswered requests of an agent: those that it waits for, and those that some of its lines wait for while others run. */
export function openRequests(
  { statusState }: LogProjection,
  requests: ReadonlyMap<string, RecordedRequest>,
): readonly RequestRecord[] {
  const { status, record } = statusState.current ?? {};
  if (status !== "waiting" && status !== "in_progress") return [];
  return (record?.requests ?? []).flatMap((id) => {
    const { record: asked, reply } = requests.get(id) ?? {};
    // The status of a run that goes on may list what was answered since.
    return asked && !(reply && status === "in_progress") ? [asked] : [];
  });
}

/** Whether an agent still waits for everything it waited for when it last ran. */
export function waits({ statusState }: LogProjection): boolean {
  const { status, record } = statusState.current ?? {};
  return status === "waiting" && (record?.requests ?? []).length > 0 && !record?.answered;
}
