import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";

/**
 * Makes events available again for which the receipt was interrupted: the requests of a line that the run leaves have
 * no reply in the log. Call this before the log shows that the run has left the line. Until then, the same requests can
 * receive the same events.
 *
 * @param stored The log. `state` is the head of the main line, for a log that was not read from its start.
 * @param received Answered requests that the line has not read yet.
 */
export async function giveBackEvents(
  setup: PersistenceSetup,
  { log: { agentId, index }, state }: { readonly log: AgentLog; readonly state?: AgentState },
  received: readonly string[] = [],
): Promise<void> {
  const unanswered = [...(state?.requests.keys() ?? []), ...index.requests.unanswered].filter((id) => {
    const known = state?.requests.get(id) ?? index.requests.get(id);
    return known?.reply === undefined && known?.record.event !== undefined;
  });
  const requests = [...new Set([...unanswered, ...received])];
  if (requests.length > 0) await (await setup.inbox()).rollBack(agentId, requests, []);
}
