import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/**
 * The agent has no run to cancel or resume, because the run does not exist, finished or was canceled. The stored state
 * is unchanged.
 */
export class RunNotOpenError extends AgentPersistenceError {
  constructor(
    override readonly code: "nothing_to_cancel" | "nothing_to_resume",
    readonly agentId: string,
    reason: string,
  ) {
    const id = quoted(agentId);
    super(
      code === "nothing_to_cancel"
        ? `Agent ${id} has no run to cancel: ${reason}. No action is required.`
        : `Agent ${id} has no run to resume: ${reason}. Start a run with run(input, { agentId: ${id} }).`,
    );
  }
}
