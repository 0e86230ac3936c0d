import type { AgentState } from "./AgentState.ts";
import type { LogProjection } from "./LogProjection.ts";
import type { RequestRecord } from "../records/requestRecords.ts";

/** The unanswered requests of a waiting agent; none unless it waits. */
export function openRequests({ statusState }: LogProjection, state: AgentState): readonly RequestRecord[] {
  const { status, record } = statusState.current ?? {};
  if (status !== "waiting") return [];
  return (record?.requests ?? []).flatMap((id) => state.requests.get(id)?.record ?? []);
}

/** Whether an agent still waits for everything it waited for when it last ran. */
export function waits(index: LogProjection, state: AgentState): boolean {
  return openRequests(index, state).length > 0 && !index.statusState.current?.record?.answered;
}
