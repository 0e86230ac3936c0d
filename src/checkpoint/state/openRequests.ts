import type { AgentState } from "./AgentState.ts";
import type { LogProjection } from "./LogProjection.ts";
import type { RequestRecord } from "../records/requestRecords.ts";

/** The requests that an agent waits for and that nobody has answered; none unless it waits. */
export function openRequests({ statusState }: LogProjection, state: AgentState): readonly RequestRecord[] {
  const { status, record } = statusState.current ?? {};
  if (status !== "waiting") return [];
  return (record?.requests ?? []).flatMap((id) => state.requests.get(id)?.record ?? []);
}

/** Whether an agent waits as it did when it last ran: nobody has answered anything since. */
export function waits(index: LogProjection, state: AgentState): boolean {
  return openRequests(index, state).length > 0 && !index.statusState.current?.record?.answered;
}
