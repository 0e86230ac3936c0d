import { AgentCopiedError, AgentMovedError } from "../../errors/agentErrors.ts";
import type { StatusState } from "../../checkpoint/state/StatusState.ts";

/** Returns why an agent may not run here, or `undefined` if it may. */
export function custodyError(
  agentId: string,
  { custody }: StatusState,
): AgentMovedError | AgentCopiedError | undefined {
  const { state = "here", to } = custody ?? {};
  if (state === "moved" || state === "moving") return new AgentMovedError(agentId, state, to);
  return state === "copied" ? new AgentCopiedError(agentId) : undefined;
}
