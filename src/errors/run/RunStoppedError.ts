import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A run that was followed from outside stopped before it finished. */
export class RunStoppedError extends AgentPersistenceError {
  override readonly code = "run_stopped";

  constructor(
    readonly agentId: string,
    /** The current status. */
    readonly status: string,
  ) {
    super(
      `The run of agent ${quoted(agentId)} is ${status} and does not continue automatically. Resume it to continue.`,
    );
  }
}
