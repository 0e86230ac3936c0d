import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** There is no run to cancel or to resume: none is stored, it has ended, or it was canceled. Nothing has changed. */
export class RunNotOpenError extends AgentPersistenceError {
  constructor(
    override readonly code: "nothing_to_cancel" | "nothing_to_resume",
    readonly agentId: string,
    reason: string,
  ) {
    const id = quoted(agentId);
    super(
      code === "nothing_to_cancel"
        ? `Agent ${id} has no run to cancel: ${reason}. There is nothing to do.`
        : `Agent ${id} has no run to resume: ${reason}. Start a run with run(input, { agentId: ${id} }).`,
    );
  }
}
