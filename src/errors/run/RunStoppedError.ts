import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A run that was followed from outside has stopped before its end. */
export class RunStoppedError extends AgentPersistenceError {
  override readonly code = "run_stopped";

  constructor(
    readonly agentId: string,
    /** How it is now. */
    readonly status: string,
  ) {
    super(`The run of agent ${quoted(agentId)} is ${status} and goes no further by itself. Resume it to continue.`);
  }
}
